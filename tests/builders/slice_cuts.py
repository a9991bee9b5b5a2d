"""Devices in slices cut at the API's own limit, as a driver other than ours may publish them."""

from collections.abc import Sequence
from typing import Final

from nodeagent.fields import JsonObject
from nodeagent.publish.slices import DesiredSlice

DEVICES_PER_SLICE: Final = 128


def cut(devices: Sequence[JsonObject]) -> tuple[DesiredSlice, ...]:
    """Spread devices without taints and counters over as few slices as the API allows."""
    return tuple(
        DesiredSlice(devices=tuple(devices[start : start + DEVICES_PER_SLICE]))
        for start in range(0, len(devices), DEVICES_PER_SLICE)
    )
