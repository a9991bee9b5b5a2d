"""How one device may serve several processes: time slices, or NVIDIA's multi-process service.

A strategy is what a claim's configuration chose; the checkpoint keeps it beside the device,
because undoing has to know what was done (node-agent.md 2.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from nodeagent.fields import FieldError, Fields, Json, JsonObject


class Strategy(StrEnum):
    """The words of `sharing.strategy`."""

    TIME_SLICING = "TimeSlicing"
    MPS = "MPS"


class Interval(StrEnum):
    """How long one process keeps the GPU before the next one's turn."""

    DEFAULT = "Default"
    SHORT = "Short"
    MEDIUM = "Medium"
    LONG = "Long"

    @property
    def level(self) -> int:
        """The driver's number for it, 0 to 3."""
        return tuple(Interval).index(self)


@dataclass(frozen=True, slots=True)
class TimeSlicing:
    """Processes take turns. A property of the whole GPU, whoever uses it."""

    interval: Interval = Interval.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Mps:
    """Processes run at the same time, through one control daemon for all devices of the group."""

    active_thread_percentage: int | None = None
    pinned_memory_mebibytes: int | None = None
    """How much memory of each device one client may pin."""

    pinned_memory_mebibytes_by_device: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """The same for single devices, by index in the group or by UUID; beats the former."""


Sharing: TypeAlias = TimeSlicing | Mps


def sharing_to_json(sharing: Sharing) -> JsonObject:
    """Write a strategy down for the checkpoint."""
    if isinstance(sharing, TimeSlicing):
        return {"strategy": Strategy.TIME_SLICING.value, "interval": sharing.interval.value}
    written: JsonObject = {"strategy": Strategy.MPS.value}
    if sharing.active_thread_percentage is not None:
        written["activeThreadPercentage"] = sharing.active_thread_percentage
    if sharing.pinned_memory_mebibytes is not None:
        written["pinnedMemoryMebibytes"] = sharing.pinned_memory_mebibytes
    if sharing.pinned_memory_mebibytes_by_device:
        by_device: JsonObject = dict(sharing.pinned_memory_mebibytes_by_device)
        written["pinnedMemoryMebibytesByDevice"] = by_device
    return written


def sharing_from_json(written: Json) -> Sharing | None:
    """Read a strategy back, as far as it can be read.

    What another version wrote must never keep a claim from being undone: a value that means
    nothing here is left out, and an unknown strategy is none.
    """
    if not isinstance(written, dict):
        return None
    match written.get("strategy"):
        case Strategy.TIME_SLICING.value:
            interval = written.get("interval")
            known = tuple(Interval)
            return TimeSlicing(Interval(interval) if interval in known else Interval.DEFAULT)
        case Strategy.MPS.value:
            fields = Fields(written, "sharing")
            by_device = written.get("pinnedMemoryMebibytesByDevice")
            limits = by_device if isinstance(by_device, dict) else {}
            return Mps(
                active_thread_percentage=_number(fields, "activeThreadPercentage"),
                pinned_memory_mebibytes=_number(fields, "pinnedMemoryMebibytes"),
                pinned_memory_mebibytes_by_device=MappingProxyType(
                    {key: limit for key, limit in limits.items() if isinstance(limit, int)}
                ),
            )
    return None


def _number(fields: Fields, name: str) -> int | None:
    try:
        return fields.optional_integer(name)
    except FieldError:
        return None
