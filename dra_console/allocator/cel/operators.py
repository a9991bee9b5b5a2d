"""Operators, indexing and sizes.

Whole numbers are 64 bits wide: leaving the range is an error, never a bigger number.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dra_console.allocator.cel.values import (
    NONE,
    Domains,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    Uint,
    Value,
    as_key,
    equal,
    is_number,
    is_same,
    no_such_overload,
    type_name,
)

Function: TypeAlias = Callable[[Sequence[Value]], Value]

INT_MIN, INT_MAX, UINT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
TIMESTAMP_MIN, TIMESTAMP_MAX = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1


def bounded(value: int, like: type) -> int:
    """Keep a result within the 64 bits of its type.

    Raises:
        EvaluationError: it does not fit.

    """
    if like is Uint:
        if not 0 <= value <= UINT_MAX:
            raise EvaluationError("unsigned integer overflow")
        return Uint(value)
    if not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("integer overflow")
    return value


def duration(nanos: int) -> Duration:
    """Make a duration that fits 64 bits of nanoseconds.

    Raises:
        EvaluationError: it does not fit.

    """
    if not INT_MIN <= nanos <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def timestamp(nanos: int, offset_s: int = 0) -> Timestamp:
    """Make a moment of the years 1 to 9999.

    Raises:
        EvaluationError: it is outside.

    """
    if not TIMESTAMP_MIN <= nanos <= TIMESTAMP_MAX:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset_s)


def add(left: Value, right: Value) -> Value:  # noqa: C901, PLR0911  one pair of types each
    """Add numbers and times, join texts and lists."""
    kind = type(left)
    if kind is type(right):
        match left, right:
            case bool(), _:
                pass
            case int(), int():
                return bounded(int(left) + int(right), kind)
            case float(), float():
                return left + right
            case str(), str():
                return left + right
            case bytes(), bytes():
                return left + right
            case Duration(), Duration():
                return duration(left.nanos + right.nanos)
    match left, right:
        case list(), list():
            return [*left, *right]
        case Timestamp(), Duration():
            return timestamp(left.nanos + right.nanos, left.offset_s)
        case Duration(), Timestamp():
            return timestamp(left.nanos + right.nanos, right.offset_s)
    raise no_such_overload()


def subtract(left: Value, right: Value) -> Value:
    """Subtract numbers and times."""
    match left, right:
        case bool(), _:
            pass
        case int(), int() if type(left) is type(right):
            return bounded(int(left) - int(right), type(left))
        case float(), float():
            return left - right
        case Duration(), Duration():
            return duration(left.nanos - right.nanos)
        case Timestamp(), Timestamp():
            return duration(left.nanos - right.nanos)
        case Timestamp(), Duration():
            return timestamp(left.nanos - right.nanos, left.offset_s)
    raise no_such_overload()


def multiply(left: Value, right: Value) -> Value:
    """Multiply numbers."""
    match left, right:
        case bool(), _:
            pass
        case int(), int() if type(left) is type(right):
            return bounded(int(left) * int(right), type(left))
        case float(), float():
            return left * right
    raise no_such_overload()


def divide(left: Value, right: Value) -> Value:
    """Divide numbers; whole ones towards zero."""
    match left, right:
        case bool(), _:
            pass
        case int(), int() if type(left) is type(right):
            if right == 0:
                raise EvaluationError("division by zero")
            quotient = abs(int(left)) // abs(int(right))
            return bounded(quotient if (left < 0) == (right < 0) else -quotient, type(left))
        case float(), float():
            if right == 0:
                is_undefined = left == 0 or math.isnan(left)
                return (
                    math.nan
                    if is_undefined
                    else math.copysign(math.inf, left) * math.copysign(1, right)
                )
            return left / right
    raise no_such_overload()


def modulo(left: Value, right: Value) -> Value:
    """Take the remainder, which has the sign of the dividend."""
    match left, right:
        case bool(), _:
            pass
        case int(), int() if type(left) is type(right):
            if right == 0:
                raise EvaluationError("modulus by zero")
            rest = abs(int(left)) % abs(int(right))
            return bounded(rest if left >= 0 else -rest, type(left))
    raise no_such_overload()


def negate(value: Value) -> Value:
    """Turn the sign."""
    if type(value) is int:
        return bounded(-value, int)
    if isinstance(value, float):
        return -value
    raise no_such_overload()


def compare(left: Value, right: Value) -> int | None:
    """Order two values: -1, 0 or 1; `None` if one is not a number at all (NaN).

    Raises:
        EvaluationError: they have no order.

    """
    match left, right:
        case bool(), bool():
            return left - right
        case (bool(), _) | (_, bool()):
            pass
        case int() | float(), int() | float():
            return None if left != left or right != right else (left > right) - (left < right)  # noqa: PLR0124  NaN
        case str(), str():
            return (left.encode() > right.encode()) - (left.encode() < right.encode())
        case bytes(), bytes():
            return (left > right) - (left < right)
        case Duration(), Duration():
            return (left > right) - (left < right)
        case Timestamp(), Timestamp():
            return (left > right) - (left < right)
    raise no_such_overload()


def is_in(wanted: Value, container: Value) -> bool:
    """Look for an element of a list or a key of a map."""
    if isinstance(container, list):
        return any(is_same(wanted, each) for each in container)
    if isinstance(container, dict):
        try:
            return as_key(wanted) in container
        except EvaluationError:
            return False
    raise no_such_overload()


def item(container: Value, key: Value) -> Value:
    """Look up `container[key]`."""
    found = item_or_none(container, key)
    if isinstance(found, Optional):
        raise _missing(container, key)
    return found[0]


def _missing(container: Value, key: Value) -> EvaluationError:
    if isinstance(container, list):
        if is_number(key):
            return EvaluationError(f"index out of bounds: {key}")
        return EvaluationError(f"unsupported index type '{type_name(key)}' in list")
    spelled = str(key).lower() if isinstance(key, bool) else key
    return EvaluationError(f"no such key: {spelled}")


def item_or_none(container: Value, key: Value) -> tuple[Value] | Optional:  # noqa: PLR0911  one type each
    """Look up; the value in a tuple, or `NONE`."""
    if type(container) is dict and type(key) is str:  # the usual case first
        return (container[key],) if key in container else NONE
    if isinstance(container, Domains):
        try:
            return (container.get(as_key(key), {}),)
        except EvaluationError:
            return ({},)
    if isinstance(container, dict):
        try:
            known = as_key(key)
        except EvaluationError:
            return NONE
        return (container[known],) if known in container else NONE
    if isinstance(container, list) and is_number(key) and key == int(key):  # type: ignore[call-overload]
        index = int(key)  # type: ignore[call-overload]  # a number, as just seen
        return (container[index],) if 0 <= index < len(container) else NONE
    return NONE


def size(value: Value) -> int:
    """Count characters, bytes, elements or entries."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_such_overload("size", value)


def _ordering(holds: Callable[[int], bool]) -> Function:
    def compared(values: Sequence[Value]) -> bool:
        left, right = values
        order = compare(left, right)
        return order is not None and holds(order)

    return compared


FUNCTIONS: Final[dict[str, Function]] = {
    "_+_": lambda values: add(values[0], values[1]),
    "_-_": lambda values: subtract(values[0], values[1]),
    "_*_": lambda values: multiply(values[0], values[1]),
    "_/_": lambda values: divide(values[0], values[1]),
    "_%_": lambda values: modulo(values[0], values[1]),
    "-_": lambda values: negate(values[0]),
    "_==_": lambda values: equal(values[0], values[1]),
    "_!=_": lambda values: not is_same(values[0], values[1]),
    "_<_": _ordering(lambda order: order < 0),
    "_<=_": _ordering(lambda order: order <= 0),
    "_>_": _ordering(lambda order: order > 0),
    "_>=_": _ordering(lambda order: order >= 0),
    "@in": lambda values: is_in(values[0], values[1]),
    "_[_]": lambda values: item(values[0], values[1]),
    "size": lambda values: size(values[0]),
}
