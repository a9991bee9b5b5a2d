"""How numbers and times are said, in one spelling for all pages.

`static/js/device-readings.js` spells readings the same way, since it goes on where the server
stopped.
"""

import re
from datetime import timedelta
from functools import lru_cache

SECOND = 1
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
GIBIBYTE = 2**30

SHORT_MODEL = re.compile(r"\b(?:RTX |GTX )?[A-Z]{1,3}\d{1,4}[A-Z]{0,2}\b")
"""The part of a product name that people use, such as H100 in `NVIDIA H100 80GB HBM3`."""

NOMINAL_SIZE = re.compile(r"\b(\d+)\s?GB\b")
"""The size that a product is sold by, where its name carries it."""

GIGABYTE = 10**9
MODELS_KEPT = 1_024
"""A fleet has a few dozen, and says them once for each of its devices."""


def age_in_words(age: timedelta) -> str:
    """Say a length of time with at most two units, as in `0.4 s`, `14 min`, `2 h 10 min`, `3 d`."""
    seconds = max(age.total_seconds(), 0.0)
    if seconds < 10 * SECOND:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < DAY:
        hours, rest = divmod(seconds, HOUR)
        return _two_units(hours, "h", rest // MINUTE, "min")
    days, rest = divmod(seconds, DAY)
    return _two_units(days, "d", rest // HOUR, "h") if days < 3 else f"{days:.0f} d"  # noqa: PLR2004 - from three days on hours say nothing


def _two_units(large: float, large_unit: str, small: float, small_unit: str) -> str:
    words = f"{large:.0f} {large_unit}"
    return f"{words} {small:.0f} {small_unit}" if small else words


def bytes_in_words(amount: int) -> str:
    """Say an amount of memory in GiB, with a digit after the point below ten."""
    gibibytes = amount / GIBIBYTE
    return f"{gibibytes:.1f} GiB" if gibibytes < 10 else f"{gibibytes:.0f} GiB"  # noqa: PLR2004 - two digits either way


def reading_in_words(name: str, value: int | str | None) -> str:
    """Say a reading, named as telemetry names it; what a board does not report is no number."""
    if value is None or isinstance(value, str):
        return value or "not reported"
    match name:
        case "memory_used_bytes" | "memory_total_bytes":
            return bytes_in_words(value)
        case "power_milliwatts":
            return f"{value / 1000:.0f} W"
        case "temperature_celsius":
            return f"{value} °C"
        case "sm_clock_megahertz":
            return f"{value} MHz"
        case _:
            return f"{value} %"


def counted(amount: int, singular: str, plural: str = "") -> str:
    """Say a number with its noun, as in `1 device` and `3 devices`."""
    return f"{amount} {singular if amount == 1 else plural or singular + 's'}"


@lru_cache(maxsize=MODELS_KEPT)
def model_in_words(product_name: str, memory_bytes: int | None) -> str:
    """Shorten a product name to what people say, as in `H100 80 GB`.

    The size is the one it is sold by: from its name, else what a board of so much usable
    memory is called (24 GB for an L4 with 22.5 GiB). A name that does not hold a model number
    is returned as it is, an empty one as `unnamed model`.
    """
    if not product_name:
        return "unnamed model"
    found = SHORT_MODEL.search(product_name)
    if found is None:
        return product_name
    if memory_bytes is None:
        return found.group()
    nominal = NOMINAL_SIZE.search(product_name)
    size = int(nominal[1]) if nominal else round(memory_bytes / GIGABYTE)
    return f"{found.group()} {size} GB"
