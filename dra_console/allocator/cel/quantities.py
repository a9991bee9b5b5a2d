"""Quantities and versions, as Kubernetes offers them to selectors."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from dra_console.allocator.cel.arithmetic import INT_MAX, INT_MIN
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.strings import text
from dra_console.allocator.cel.values import (
    ComputedQuantity,
    EvaluationError,
    Value,
    no_such_overload,
)
from dra_console.allocator.quantity import NANO, Quantity
from dra_console.allocator.semver import Semver

Parsed = TypeVar("Parsed")


def parsed(parse: Callable[[str], Parsed], spelled: str) -> Parsed:
    """Read a text.

    Raises:
        EvaluationError: the parser does not take it.

    """
    try:
        return parse(spelled)
    except ValueError as error:
        raise EvaluationError(str(error)) from error


def is_parsed(parse: Callable[[str], object], spelled: str) -> bool:
    """Tell whether a parser takes a text."""
    try:
        parse(spelled)
    except ValueError:
        return False
    return True


def _amount(value: Value) -> Quantity:
    if not isinstance(value, Quantity):
        raise no_such_overload()
    return value


def _version(value: Value) -> Semver:
    if not isinstance(value, Semver):
        raise no_such_overload()
    return value


def _semver_parser(values: Sequence[Value]) -> Callable[[str], Semver]:
    if len(values) == 1:
        return Semver.parse
    if not isinstance(values[1], bool):
        raise no_such_overload()
    return Semver.parse_leniently if values[1] else Semver.parse


def _ordering(name: str, answer: Callable[[int], Value]) -> Function:
    def compared(values: Sequence[Value]) -> Value:
        match values:
            case [Quantity() as left, Quantity() as right]:
                return answer((left.nanos > right.nanos) - (left.nanos < right.nanos))
            case [Semver() as left_version, Semver() as right_version]:
                return answer((left_version > right_version) - (left_version < right_version))
        raise no_such_overload(name, *values)

    return compared


def _term(value: Value) -> Quantity:
    if type(value) is int:
        return Quantity.of(value)
    return _amount(value)


def _computed(quantity: Quantity) -> ComputedQuantity:
    return ComputedQuantity(quantity.nanos, quantity.family)


def _is_integer(values: Sequence[Value]) -> bool:
    nanos = _amount(values[0]).nanos
    return nanos % NANO == 0 and INT_MIN <= nanos // NANO <= INT_MAX


def _as_integer(values: Sequence[Value]) -> int:
    if not _is_integer(values):
        raise EvaluationError("cannot convert value to integer")
    return _amount(values[0]).nanos // NANO


def _sign(values: Sequence[Value]) -> int:
    nanos = _amount(values[0]).nanos
    return (nanos > 0) - (nanos < 0)


FUNCTIONS: Final[dict[str, Function]] = {
    "quantity": lambda values: parsed(Quantity.parse, text(values[0])),
    "isQuantity": lambda values: is_parsed(Quantity.parse, text(values[0])),
    "semver": lambda values: parsed(_semver_parser(values), text(values[0])),
    "isSemver": lambda values: is_parsed(_semver_parser(values), text(values[0])),
    "isGreaterThan": _ordering("isGreaterThan", lambda order: order > 0),
    "isLessThan": _ordering("isLessThan", lambda order: order < 0),
    "compareTo": _ordering("compareTo", lambda order: order),
    "add": lambda values: _computed(_amount(values[0]) + _term(values[1])),
    "sub": lambda values: _computed(_amount(values[0]) - _term(values[1])),
    "sign": _sign,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda values: _amount(values[0]).nanos / NANO,
    "major": lambda values: _version(values[0]).core[0],
    "minor": lambda values: _version(values[0]).core[1],
    "patch": lambda values: _version(values[0]).core[2],
}
