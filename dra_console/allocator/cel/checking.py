"""Parsing and type-checking, by the engine, in the dialect that applies.

The engine is cel-expr-python; what it hands out is a tree with types, and nothing of it takes
part in evaluation: its functions in Python crash on some values (optionals), and it stops
after 10,000 iterations whatever they cost.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from cel_expr_python import cel

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.environment import LOCK, environment_of
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.serialized import read_checked
from dra_console.allocator.cel.tree import CheckedTree
from dra_console.allocator.rules import Feature

REPORT: Final = re.compile(r"ERROR: <input>:(?P<line>-?\d+):(?P<column>-?\d+): (?P<text>[^\n]*)")
UNDEFINED: Final = re.compile(r"^(undefined field '\w+').*")
UNKNOWN_PATH: Final = re.compile(r"undeclared reference to '(?P<name>\w+)\.[\w.]+'")
"""The engine points at the dot; Kubernetes at the name before it, and names only that."""
TOO_DEEP: Final = "recursion"
ENGINE_ERRORS: Final = (RuntimeError, TypeError, ValueError, OverflowError)
"""Seen from the engine; the first is the usual one, the others came out of fuzzing."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which expressions are accepted.

    New and changed ones are held to the feature gates and to the limit of estimated costs;
    stored ones are always understood, whatever the gates say by now.
    """

    is_new: bool = False
    has_multiple_allocations: bool = True
    has_lists: bool = True

    @classmethod
    def of_new(cls, features: frozenset[Feature]) -> Self:
        """Choose what the API server applies to a new expression."""
        return cls(
            is_new=True,
            has_multiple_allocations=Feature.CONSUMABLE_CAPACITY in features,
            has_lists=Feature.LIST_TYPE_ATTRIBUTES in features,
        )


STORED: Final = Dialect()


def check(expression: str, dialect: Dialect) -> CheckedTree | CompileFault:
    """Parse and type-check, or say what is wrong and where."""
    environment = environment_of(dialect.has_multiple_allocations, dialect.has_lists)
    source = cel_text.with_engine_macros(expression)
    with LOCK:
        try:
            return _checked(environment.naming(source), source)
        except ENGINE_ERRORS:
            whole = environment.whole()
        try:
            # What is wrong is said by one that knows everything.
            return _checked(whole, source)
        except ENGINE_ERRORS as error:
            report = str(error)
        if TOO_DEEP in report:
            try:
                return _checked(whole, cel_text.with_fewer_parentheses(source))
            except ENGINE_ERRORS as error:
                report = str(error)
    return _fault(expression, report)


def make_ready() -> None:
    """Declare everything that stored expressions may name, ahead of the first one that does."""
    with LOCK:
        environment_of(STORED.has_multiple_allocations, STORED.has_lists).whole()


def _checked(environment: cel.Env, source: str) -> CheckedTree:
    return read_checked(environment.compile(source).serialize())


def _fault(expression: str, report: str) -> CompileFault:
    quote = cel_text.typographic_quote(expression)
    if quote is not None:
        character, (line, column) = quote
        return CompileFault(
            f"typographic quote {character} (U+{ord(character):04X})",
            line,
            column,
            hint="use the plain quotes \" or ' around texts",
        )
    if TOO_DEEP in report:
        return CompileFault("the expression is nested too deeply")
    places = [
        (int(found["line"]), int(found["column"]), found["text"])
        for found in REPORT.finditer(report)
    ]
    if not places:
        return CompileFault(report.partition(" [")[0])
    line, column, message = min([place for place in places if place[0] > 0] or places)
    message = UNDEFINED.sub(r"\1", message).removesuffix(" (in container '')")
    unknown = UNKNOWN_PATH.fullmatch(message)
    if unknown:
        name = unknown["name"]
        before = expression.splitlines()[line - 1][: column - 1]
        return CompileFault(f"undeclared reference to '{name}'", line, before.rfind(name) + 1)
    return CompileFault(message, line, column)
