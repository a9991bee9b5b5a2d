"""What the API takes at most, and how a device is made to fit (node-agent.md 4.3).

A server refuses a slice as a whole, so one device with an attribute too many would take 63
others with it. What is over a limit is left out here, the least important first, and logged.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import structlog

from nodeagent.devices.taint import Effect, Taint
from nodeagent.fields import JsonObject

log = structlog.get_logger()

DEVICES_PER_SLICE: Final = 64
"""The API takes 128, and 64 as soon as one device of the slice has a taint, draws on counters or
has a list. A device may be tainted at any time, and that must not move devices between slices."""

COUNTER_SETS_PER_SLICE: Final = 8
COUNTERS_PER_SET: Final = 32
COUNTERS_PER_MIXED_SLICE: Final = 1024
"""Kubernetes 1.33 and 1.34: what all devices of a slice draw on, together."""

PROPERTIES_PER_DEVICE: Final = 32
"""Attributes and capacities together."""

VALUES_PER_DEVICE: Final = 48
"""Values of all attributes, each item of a list counted."""

TAINTS_PER_DEVICE: Final = 16
VALUE_BYTES: Final = 64
"""What the API takes for a string or version attribute."""

DEVICE_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)

Attribute = tuple[str, JsonObject]
SEVERITY: Final = {Effect.NO_EXECUTE: 0, Effect.NO_SCHEDULE: 1, Effect.NONE: 2}


def fitting_text(value: str, *, device: str, attribute: str) -> str:
    """Return a text that the API takes, cut between characters."""
    cut = value.encode()[:VALUE_BYTES].decode(errors="ignore")
    if cut != value:
        log.warning("attribute cut", device=device, attribute=attribute, value=value)
    return cut


def fitting_attributes(
    attributes: Iterable[Attribute], *, device: str, capacities: int
) -> JsonObject:
    """Return as many attributes as the API takes, from attributes in the order of importance."""
    kept: JsonObject = {}
    left_out = []
    values = 0
    for name, value in attributes:
        size = _values_in(value)
        if len(kept) + capacities < PROPERTIES_PER_DEVICE and values + size <= VALUES_PER_DEVICE:
            kept[name] = value
            values += size
        else:
            left_out.append(name)
    if left_out:
        log.warning("attributes left out", device=device, attributes=left_out)
    return kept


def fitting_taints(taints: Sequence[Taint], *, device: str) -> tuple[Taint, ...]:
    """Return the taints in an order of their own, the gravest if there are too many."""
    in_order = sorted(set(taints), key=lambda taint: (SEVERITY[taint.effect], taint))
    if len(in_order) > TAINTS_PER_DEVICE:
        left_out = [taint.key for taint in in_order[TAINTS_PER_DEVICE:]]
        log.warning("taints left out", device=device, taints=left_out)
    return tuple(in_order[:TAINTS_PER_DEVICE])


def _values_in(value: JsonObject) -> int:
    (content,) = value.values()
    return len(content) if isinstance(content, list) else 1
