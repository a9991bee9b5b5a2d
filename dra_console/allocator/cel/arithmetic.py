"""Arithmetic on numbers, texts, lists and moments.

Whole numbers are 64 bits wide: leaving the range is an error, never a bigger number.
"""

import math

from dra_console.allocator.cel.values import (
    Duration,
    EvaluationError,
    Timestamp,
    Uint,
    Value,
    no_such_overload,
)

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
