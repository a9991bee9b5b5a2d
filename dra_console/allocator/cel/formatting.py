"""`'%s has %d'.format([a, b])`: clauses of cel-go's `strings` extension.

`%e` is left out: upstream prints it in the manner of a language, with a multiplication sign
and raised digits.
"""

import math
import re
from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel.conversions import to_string
from dra_console.allocator.cel.values import (
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    from_key,
    type_name,
)

CLAUSE: Final = re.compile(r"%(?:%|(?:\.(?P<precision>[0-9]+))?(?P<letter>.?))", re.DOTALL)
PRECISION: Final = 6
LETTERS: Final = frozenset("sdfebxXo")
ESCAPED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def clauses(template: str) -> list[tuple[str, int]]:
    """List the letter and the offset of each clause that takes an argument.

    Raises:
        EvaluationError: a clause is none of the known ones.

    """
    found = []
    for clause in CLAUSE.finditer(template):
        letter = clause["letter"]
        if letter is None:
            continue
        if not letter:
            raise EvaluationError("could not parse formatting clause: unexpected end of string")
        if letter not in LETTERS:
            raise EvaluationError(
                f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
            )
        found.append((letter, clause.start()))
    return found


def formatted(template: str, arguments: Sequence[Value]) -> str:
    """Put arguments into a template.

    Raises:
        EvaluationError: a clause is unknown, has no argument, or one of another type.

    """
    clauses(template)
    given = iter(enumerate(arguments))

    def replaced(clause: re.Match[str]) -> str:
        if clause["letter"] is None:
            return "%"
        index, argument = next(given, (len(arguments), None))
        if index == len(arguments):
            raise EvaluationError(f"index {index} out of range")
        return _clause(clause["letter"], clause["precision"], argument)

    return CLAUSE.sub(replaced, template)


def _clause(letter: str, precision: str | None, argument: Value) -> str:
    match letter:
        case "s":
            return _as_text(argument)
        case "d" if type(argument) in {int, Uint}:
            return str(argument)
        case "b" if type(argument) in {int, Uint, bool}:
            return f"{argument:b}"
        case "o" if type(argument) in {int, Uint}:
            return f"{argument:o}"
        case "x" | "X":
            return _hexadecimal(letter, argument)
        case "f" if isinstance(argument, float):
            return _fixed(argument, PRECISION if precision is None else int(precision))
    raise EvaluationError(
        f"error during formatting: %{letter} can't be used on {type_name(argument)}"
    )


def _hexadecimal(letter: str, argument: Value) -> str:
    if type(argument) in {int, Uint}:
        return f"{argument:{letter}}"
    if isinstance(argument, str | bytes):
        raw = (argument.encode() if isinstance(argument, str) else argument).hex()
        return raw.upper() if letter == "X" else raw
    raise EvaluationError(
        f"error during formatting: %{letter} can't be used on {type_name(argument)}"
    )


def _fixed(argument: float, precision: int) -> str:
    if math.isnan(argument):
        return "NaN"
    if math.isinf(argument):
        return "\u221e" if argument > 0 else "-\u221e"
    return f"{argument:,.{precision}f}"


def _as_text(argument: Value) -> str:
    if argument is None:
        return "null"
    if isinstance(argument, list):
        return f"[{', '.join(map(_within, argument))}]"
    if isinstance(argument, dict):
        entries = sorted(
            (_within(from_key(key)), _within(value)) for key, value in argument.items()
        )
        return "{" + ", ".join(f"{key}:{value}" for key, value in entries) + "}"
    if isinstance(argument, TypeValue):
        return argument.name
    if isinstance(argument, bool | int | float | str | bytes | Duration | Timestamp):
        return to_string(argument)
    raise EvaluationError(f"error during formatting: %s can't be used on {type_name(argument)}")


def _within(argument: Value) -> str:
    """Spell a value as a literal, as lists and maps show it."""
    if isinstance(argument, str):
        return '"' + "".join(ESCAPED.get(each, each) for each in argument) + '"'
    if isinstance(argument, float) and math.isfinite(argument):
        return f"{argument:.{PRECISION}f}"
    if isinstance(argument, Duration | Timestamp):
        name = "duration" if isinstance(argument, Duration) else "timestamp"
        return f'{name}("{to_string(argument)}")'
    return _as_text(argument)
