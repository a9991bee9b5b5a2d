"""Durations and timestamps, in nanoseconds; the calendar is reckoned here, no clock is read.

Time zones are `UTC` or an offset such as `+02:00`; named zones need a data base of zones, which
differs by machine, and nothing that a device publishes holds a time.
"""

import re
from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel.arithmetic import INT_MAX, INT_MIN, TIMESTAMP_MAX, TIMESTAMP_MIN
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.values import (
    Duration,
    EvaluationError,
    Timestamp,
    Value,
    no_such_overload,
)

NANO: Final = 10**9
DAY_S: Final = 86_400
UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": NANO,
    "m": 60 * NANO,
    "h": 3_600 * NANO,
}
PART: Final = re.compile(
    r"(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<unit>ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII
)
RFC3339: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<part>\d+))?(?:Z|(?P<sign>[+-])(?P<zone_hour>\d\d):(?P<zone_minute>\d\d))",
    re.ASCII,
)
ZONE: Final = re.compile(r"(?P<sign>[+-]?)(?P<hour>\d\d):(?P<minute>\d\d)", re.ASCII)
MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
FEBRUARY: Final = 2


def parse_duration(text: str) -> Duration | None:
    """Read `1h30m`, `1.5s`, `-2ms`."""
    rest, sign = text.lstrip("+-"), -1 if text.startswith("-") else 1
    if len(text) - len(rest) > 1 or not rest:
        return None
    if rest == "0":
        return Duration(0)
    nanos = at = 0
    while at < len(rest):
        found = PART.match(rest, at)
        if found is None or not (found["whole"] or found["part"]):
            return None
        part = found["part"] or ""
        nanos += int(found["whole"] + part or "0") * UNITS[found["unit"]] // 10 ** len(part)
        at = found.end()
    return Duration(sign * nanos) if INT_MIN <= sign * nanos <= INT_MAX else None


def duration_text(value: Duration) -> str:
    """Spell in seconds, as protobuf does."""
    whole, part = divmod(abs(value.nanos), NANO)
    tail = f".{part:09d}".rstrip("0") if part else ""
    return f"{'-' if value.nanos < 0 else ''}{whole}{tail}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Read RFC 3339."""
    found = RFC3339.fullmatch(text)
    if found is None:
        return None
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    is_date = 1 <= month <= len(MONTH_DAYS) and 1 <= day <= _month_days(year, month)
    if not is_date or hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004  a clock's
        return None
    offset_s = 0
    if found["sign"]:
        offset_s = int(found["zone_hour"]) * 3_600 + int(found["zone_minute"]) * 60
        offset_s = -offset_s if found["sign"] == "-" else offset_s
    seconds = _days(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second - offset_s
    nanos = seconds * NANO + int((found["part"] or "0")[:9].ljust(9, "0"))
    return Timestamp(nanos, offset_s) if TIMESTAMP_MIN <= nanos <= TIMESTAMP_MAX else None


def timestamp_text(value: Timestamp) -> str:
    """Spell as RFC 3339."""
    seconds, part = divmod(value.nanos + value.offset_s * NANO, NANO)
    days, rest = divmod(seconds, DAY_S)
    year, month, day = _date(days)
    tail = f".{part:09d}".rstrip("0") if part else ""
    clock = f"{rest // 3_600:02d}:{rest % 3_600 // 60:02d}:{rest % 60:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}T{clock}{tail}{_zone(value.offset_s)}"


def _zone(offset_s: int) -> str:
    if not offset_s:
        return "Z"
    hours, minutes = divmod(abs(offset_s) // 60, 60)
    return f"{'-' if offset_s < 0 else '+'}{hours:02d}:{minutes:02d}"


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_days(year: int, month: int) -> int:
    return MONTH_DAYS[month - 1] + (month == FEBRUARY and _is_leap(year))


def _days(year: int, month: int, day: int) -> int:
    """Count days since 1970."""
    before = year - 1
    leaps = before // 4 - before // 100 + before // 400 - 477
    months = sum(_month_days(year, each) for each in range(1, month))
    return (year - 1970) * 365 + leaps + months + day - 1


def _date(days: int) -> tuple[int, int, int]:
    year = 1970 + days // 366
    while _days(year + 1, 1, 1) <= days:
        year += 1
    rest, month = days - _days(year, 1, 1), 1
    while rest >= _month_days(year, month):
        rest -= _month_days(year, month)
        month += 1
    return year, month, rest + 1


def _local(values: Sequence[Value]) -> tuple[int, int]:
    """Return days and nanoseconds of the day, in the zone that was asked for."""
    moment = values[0]
    if not isinstance(moment, Timestamp):
        raise no_such_overload()
    offset_s = _offset_s(values[1]) if len(values) > 1 else 0
    return divmod(moment.nanos + offset_s * NANO, DAY_S * NANO)


def _offset_s(zone: Value) -> int:
    if not isinstance(zone, str):
        raise no_such_overload()
    if zone in {"UTC", "", "Z"}:
        return 0
    found = ZONE.fullmatch(zone)
    if found is None:
        raise EvaluationError(f"unknown time zone {zone}")
    offset_s = int(found["hour"]) * 3_600 + int(found["minute"]) * 60
    return -offset_s if found["sign"] == "-" else offset_s


def _part(unit_s: int, modulo: int) -> Function:
    """Take a part of a duration as a whole, or of a moment within the next greater unit."""

    def part(values: Sequence[Value]) -> int:
        value = values[0]
        if isinstance(value, Duration):
            whole = abs(value.nanos) // (unit_s * NANO)
            return whole if value.nanos >= 0 else -whole
        _, nanos = _local(values)
        return nanos // (unit_s * NANO) % modulo

    return part


def _milliseconds(values: Sequence[Value]) -> int:
    value = values[0]
    if isinstance(value, Duration):
        whole = abs(value.nanos) // 10**6 % 1_000
        return whole if value.nanos >= 0 else -whole
    return _local(values)[1] // 10**6 % 1_000


def _day_of_year(values: Sequence[Value]) -> int:
    days, _ = _local(values)
    return days - _days(_date(days)[0], 1, 1)


FUNCTIONS: Final[dict[str, Function]] = {
    "getFullYear": lambda values: _date(_local(values)[0])[0],
    "getMonth": lambda values: _date(_local(values)[0])[1] - 1,
    "getDate": lambda values: _date(_local(values)[0])[2],
    "getDayOfMonth": lambda values: _date(_local(values)[0])[2] - 1,
    "getDayOfWeek": lambda values: (_local(values)[0] + 4) % 7,
    "getDayOfYear": _day_of_year,
    "getHours": _part(3_600, 24),
    "getMinutes": _part(60, 60),
    "getSeconds": _part(1, 60),
    "getMilliseconds": _milliseconds,
}
