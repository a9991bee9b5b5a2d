"""Ages as kubectl prints them: one or two units, the finer one only while it matters."""

from datetime import UTC, datetime, timedelta
from typing import Final

from dra_console.allocator.model import Json

SECOND: Final = 1
MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY

LETTERS: Final = {SECOND: "s", MINUTE: "m", HOUR: "h", DAY: "d", YEAR: "y"}

SCALE: Final = (
    (2 * MINUTE, SECOND, None),
    (10 * MINUTE, MINUTE, SECOND),
    (3 * HOUR, MINUTE, None),
    (8 * HOUR, HOUR, MINUTE),
    (2 * DAY, HOUR, None),
    (8 * DAY, DAY, HOUR),
    (2 * YEAR, DAY, None),
    (8 * YEAR, YEAR, DAY),
)
"""Below which age which units are used, all in seconds (apimachinery `HumanDuration`)."""


def age(moment: Json, now: datetime) -> str:
    """Spell how long ago a timestamp was; what is no timestamp has an unknown age."""
    if not isinstance(moment, str):
        return "<unknown>"
    try:
        passed = now - datetime.fromisoformat(moment).astimezone(UTC)
    except ValueError:
        return "<invalid>"
    return human_duration(passed)


def human_duration(passed: timedelta) -> str:
    """Spell a duration, as in `45s`, `3m20s`, `5h`, `2d4h`; a negative one is `0s`."""
    seconds = max(int(passed.total_seconds()), 0)
    for limit, unit, finer in SCALE:
        if seconds < limit:
            rest = seconds % unit // finer if finer else 0
            ending = f"{rest}{LETTERS[finer]}" if finer and rest else ""
            return f"{seconds // unit}{LETTERS[unit]}{ending}"
    return f"{seconds // YEAR}y"
