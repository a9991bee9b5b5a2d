"""Functions on texts: CEL's own and cel-go's `strings` extension, version 2.

Positions count characters (code points), from 0.
"""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel.formatting import formatted
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.values import (
    CostExceededError,
    EvaluationError,
    Value,
    no_such_overload,
)

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
CHARACTERS_LIMIT: Final = 10_000_000
"""Walking along so many costs as much as an expression may."""
LOWER: Final = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
UPPER: Final = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def text(value: Value) -> str:
    """Take a text.

    Raises:
        EvaluationError: the value is of another type.

    """
    if not isinstance(value, str):
        raise no_such_overload()
    return value


def whole(value: Value) -> int:
    """Take a whole number.

    Raises:
        EvaluationError: the value is of another type.

    """
    if type(value) is not int:
        raise no_such_overload()
    return value


def texts(value: Value) -> list[str]:
    """Take a list of texts.

    Raises:
        EvaluationError: the value is of another type.

    """
    if not isinstance(value, list):
        raise no_such_overload()
    return [text(each) for each in value]


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(values: Sequence[Value]) -> str:
    within, index = text(values[0]), whole(values[1])
    if not 0 <= index <= len(within):
        raise _out_of_range(index)
    return within[index : index + 1]


def index_of(values: Sequence[Value]) -> int:
    """Find the first place of a text from an offset on, or -1."""
    within, wanted = text(values[0]), text(values[1])
    offset = whole(values[2]) if len(values) > 2 else 0  # noqa: PLR2004  a third argument
    if offset < 0:
        raise _out_of_range(offset)
    if not wanted:
        return min(offset, len(within))
    return within.find(wanted, offset)


def last_index_of(values: Sequence[Value]) -> int:
    """Find the last place of a text that starts at an offset or before, or -1."""
    within, wanted = text(values[0]), text(values[1])
    if len(values) == 2:  # noqa: PLR2004  without an offset
        return within.rfind(wanted)
    offset = whole(values[2])
    if offset < 0:
        raise _out_of_range(offset)
    if not wanted:
        return min(offset, len(within))
    return within.rfind(wanted, 0, offset + len(wanted)) if offset < len(within) else -1


def _substring(values: Sequence[Value]) -> str:
    within, start = text(values[0]), whole(values[1])
    if len(values) == 2:  # noqa: PLR2004  to the end
        if not 0 <= start <= len(within):
            raise _out_of_range(start)
        return within[start:]
    end = whole(values[2])
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(within):
        raise _out_of_range(start)
    if not 0 <= end <= len(within):
        raise _out_of_range(end)
    return within[start:end]


def _replace(values: Sequence[Value]) -> str:
    within, old, new = map(text, values[:3])
    count = whole(values[3]) if len(values) > 3 else -1  # noqa: PLR2004  a limit
    if (len(within) + 1) * len(new) > CHARACTERS_LIMIT:
        raise CostExceededError
    return within.replace(old, new, max(count, -1))


def _split(values: Sequence[Value]) -> list[Value]:
    within, separator = text(values[0]), text(values[1])
    limit = whole(values[2]) if len(values) > 2 else -1  # noqa: PLR2004  a limit
    if limit == 0:
        return []
    if not separator:
        if limit < 0 or limit >= len(within):
            return [*within]
        return [*within[: limit - 1], within[limit - 1 :]]
    return [*(within.split(separator) if limit < 0 else within.split(separator, limit - 1))]


def _join(values: Sequence[Value]) -> str:
    separator, parts = text(values[1]) if len(values) > 1 else "", texts(values[0])
    if len(separator) * len(parts) + sum(map(len, parts)) > CHARACTERS_LIMIT:
        raise CostExceededError
    return separator.join(parts)


def _quote(values: Sequence[Value]) -> str:
    return '"' + "".join(QUOTED.get(letter, letter) for letter in text(values[0])) + '"'


def _format(values: Sequence[Value]) -> str:
    if not isinstance(values[1], list):
        raise no_such_overload()
    return formatted(text(values[0]), values[1])


FUNCTIONS: Final[dict[str, Function]] = {
    "startsWith": lambda values: text(values[0]).startswith(text(values[1])),
    "endsWith": lambda values: text(values[0]).endswith(text(values[1])),
    "contains": lambda values: text(values[1]) in text(values[0]),
    "charAt": _char_at,
    "substring": _substring,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "trim": lambda values: text(values[0]).strip(WHITE_SPACE),
    "lowerAscii": lambda values: text(values[0]).translate(LOWER),
    "upperAscii": lambda values: text(values[0]).translate(UPPER),
    "strings.quote": _quote,
    "format": _format,
}
