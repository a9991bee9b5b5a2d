"""Conversions between types: `int(x)`, `string(x)` and the like."""

import math
import re
from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel import moments
from dra_console.allocator.cel.arithmetic import INT_MAX, INT_MIN, UINT_MAX, timestamp
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.values import (
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    no_such_overload,
    type_name,
)

WHOLE: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
NATURAL: Final = re.compile(r"[0-9]+", re.ASCII)
REAL: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
)
DIGITS_KEPT: Final = 40
"""Longer numbers fit no type."""
TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
EXPONENT_FROM, EXPONENT_BELOW = 6, -4
"""Where a double is printed with an exponent."""


def failed(value: Value, wanted: str) -> EvaluationError:
    """Say that a value cannot be converted."""
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def to_int(value: Value) -> int:
    """Convert to a signed number; doubles are cut towards zero."""
    match value:
        case bool():
            pass
        case int():
            if value > INT_MAX:
                raise EvaluationError("integer overflow")
            return int(value)
        case float():
            if not math.isfinite(value) or not float(INT_MIN) < value < float(INT_MAX):
                raise EvaluationError("integer overflow")
            return int(value)
        case str():
            if (
                WHOLE.fullmatch(value)
                and len(value) < DIGITS_KEPT
                and INT_MIN <= int(value) <= INT_MAX
            ):
                return int(value)
            raise failed(value, "int")
        case Timestamp():
            return value.nanos // 10**9
        case Duration():
            return value.nanos
    raise no_such_overload("int", value)


def to_uint(value: Value) -> Uint:
    """Convert to an unsigned number."""
    match value:
        case bool():
            pass
        case int():
            if value < 0:
                raise EvaluationError("unsigned integer overflow")
            return Uint(value)
        case float():
            if not math.isfinite(value) or not 0 <= value < float(UINT_MAX):
                raise EvaluationError("unsigned integer overflow")
            return Uint(int(value))
        case str():
            if NATURAL.fullmatch(value) and len(value) < DIGITS_KEPT and int(value) <= UINT_MAX:
                return Uint(int(value))
            raise failed(value, "uint")
    raise no_such_overload("uint", value)


def to_double(value: Value) -> float:
    """Convert to a double."""
    match value:
        case bool():
            pass
        case int() | float():
            return float(value)
        case str():
            if REAL.fullmatch(value):
                return float(value)
            raise failed(value, "double")
    raise no_such_overload("double", value)


def to_string(value: Value) -> str:  # noqa: PLR0911  one type each
    """Convert to a text."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int():
            return str(int(value))
        case float():
            return _double_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Duration():
            return moments.duration_text(value)
        case Timestamp():
            return moments.timestamp_text(value)
    spelled = getattr(value, "spelled", None)
    if isinstance(spelled, str):
        return spelled
    raise no_such_overload("string", value)


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    mantissa, _, exponent = f"{value!r}".lower().partition("e")
    power = int(exponent) if exponent else 0
    sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, part = digits.partition(".")
    part = part.rstrip("0")
    stripped = (whole + part).lstrip("0")
    magnitude = power + len(whole) - 1 - (len(whole + part) - len(stripped))
    stripped = stripped.rstrip("0") or "0"
    if magnitude >= EXPONENT_FROM or magnitude < EXPONENT_BELOW:
        tail = f".{stripped[1:]}" if len(stripped) > 1 else ""
        return f"{sign}{stripped[0]}{tail}e{magnitude:+03d}"
    if magnitude < 0:
        return f"{sign}0.{'0' * (-magnitude - 1)}{stripped}"
    padded = stripped.ljust(magnitude + 1, "0")
    tail = f".{padded[magnitude + 1 :]}" if len(padded) > magnitude + 1 else ""
    return f"{sign}{padded[: magnitude + 1]}{tail}"


def to_bool(value: Value) -> bool:
    """Convert to a boolean."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in TRUTHS:
            return TRUTHS[value]
        raise failed(value, "bool")
    raise no_such_overload("bool", value)


def to_bytes(value: Value) -> bytes:
    """Convert to bytes, in UTF-8."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_such_overload("bytes", value)


def to_duration(value: Value) -> Duration:
    """Convert to a span of time."""
    if isinstance(value, Duration):
        return value
    if isinstance(value, str):
        found = moments.parse_duration(value)
        if found is None:
            raise failed(value, "google.protobuf.Duration")
        return found
    raise no_such_overload("duration", value)


def to_timestamp(value: Value) -> Timestamp:
    """Convert to a moment; whole numbers are seconds since 1970."""
    if isinstance(value, Timestamp):
        return value
    if type(value) is int:
        return timestamp(value * 10**9)
    if isinstance(value, str):
        found = moments.parse_timestamp(value)
        if found is None:
            raise failed(value, "google.protobuf.Timestamp")
        return found
    raise no_such_overload("timestamp", value)


def _type_of(values: Sequence[Value]) -> TypeValue:
    return TypeValue(type_name(values[0]))


FUNCTIONS: Final[dict[str, Function]] = {
    "int": lambda values: to_int(values[0]),
    "uint": lambda values: to_uint(values[0]),
    "double": lambda values: to_double(values[0]),
    "string": lambda values: to_string(values[0]),
    "bool": lambda values: to_bool(values[0]),
    "bytes": lambda values: to_bytes(values[0]),
    "duration": lambda values: to_duration(values[0]),
    "timestamp": lambda values: to_timestamp(values[0]),
    "dyn": lambda values: values[0],
    "type": _type_of,
}
