"""How large a reading may be, and from where on a number is a library's word for none."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

INT32_BLANK: Final = 0x7FFF_FFF0
"""From here on DCGM means "blank" (dcgm_structs.h), and NVML "not available", which is 2**32-1."""

INT64_BLANK: Final = 0x7FFF_FFFF_FFFF_FFF0
"""The same for 64-bit readings, as memory sizes are."""


class Bounds(NamedTuple):
    """Least and most of one reading, and from where on it is not available."""

    least: int
    most: int
    blank: int = INT32_BLANK


PERCENT: Final = Bounds(0, 100)
BYTES: Final = Bounds(0, 2**50, INT64_BLANK)
MILLIWATTS: Final = Bounds(0, 100_000_000)
CELSIUS: Final = Bounds(-100, 1000)
MEGAHERTZ: Final = Bounds(0, 1_000_000)
COUNTER: Final = Bounds(0, 2**53 - 1, INT64_BLANK)


def keep_within(readings: msgspec.Struct, bounds: Mapping[str, Bounds]) -> None:
    """Turn what is not available into `None`, in a frozen struct that is being made.

    Raises:
        ValueError: a reading is out of its bounds; the message begins with its name.

    """
    for name, (least, most, blank) in bounds.items():
        value = getattr(readings, name)
        if value is None:
            continue
        if value >= blank:
            msgspec.structs.force_setattr(readings, name, None)
        elif not least <= value <= most:
            raise ValueError(f"{name}: expected {least} to {most}, got {value}")
