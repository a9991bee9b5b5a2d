"""The ResourceSlices that a node should have, from its inventory alone.

A pure function with a stable order: two agents that see the same hardware want the same slices,
byte for byte, and a restart changes nothing. Slices with counter sets come first, those with
devices after them: since Kubernetes 1.35 a slice holds one or the other, and publishing the
counters first shows whether the server keeps them before a partition relies on it
(node-agent.md 4.4, 4.7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nodeagent.devices.mig import counter_set, counter_set_name
from nodeagent.devices.model import Gpu, Inventory
from nodeagent.fields import Fields, JsonObject
from nodeagent.publish.attributes import counters_to_api, device_to_api

DEVICES_PER_SLICE: Final = 128
DEVICES_PER_SLICE_WITH_COUNTERS: Final = 64
"""The API's limit as soon as one device of the slice consumes counters."""

COUNTER_SETS_PER_SLICE: Final = 8
PROPERTIES_PER_DEVICE: Final = 32
"""Attributes and capacities together."""


@dataclass(frozen=True, slots=True)
class DesiredSlice:
    """The content of one slice: devices or counter sets, as the API spells them."""

    devices: tuple[JsonObject, ...] = ()
    shared_counters: tuple[JsonObject, ...] = ()

    def spec_members(self) -> JsonObject:
        """Return the members of `spec` that hold the content."""
        if self.shared_counters:
            return {"sharedCounters": list(self.shared_counters)}
        return {"devices": list(self.devices)}


def slices_of(inventory: Inventory, *, with_partitions: bool) -> tuple[DesiredSlice, ...]:
    """Return the slices for an inventory, at least one: an empty one says that the driver is up.

    Without partitions only whole GPUs are offered: partitions that overlap, on a server that
    drops their counters, would be given out twice.
    """
    offered = [
        device for device in inventory.devices if with_partitions or device.partition is None
    ]
    partitioned = dict.fromkeys(device.gpu for device in offered if device.partition is not None)
    counter_sets = [_counter_set(gpu) for gpu in partitioned]
    devices = [device_to_api(device, source=inventory.source) for device in offered]
    return (
        *(
            DesiredSlice(shared_counters=chunk)
            for chunk in _chunks(counter_sets, COUNTER_SETS_PER_SLICE)
        ),
        *split(devices),
    )


def split(devices: Sequence[JsonObject]) -> tuple[DesiredSlice, ...]:
    """Spread devices over as few slices as the API's limits allow, in their order.

    All slices of a pool are cut alike, by its strictest device, so that the cut of one does not
    depend on which devices happen to be in it.
    """
    has_counters = any("consumesCounters" in device for device in devices)
    limit = DEVICES_PER_SLICE_WITH_COUNTERS if has_counters else DEVICES_PER_SLICE
    return tuple(DesiredSlice(devices=chunk) for chunk in _chunks(devices, limit)) or (
        DesiredSlice(),
    )


def faults_of(slices: Sequence[DesiredSlice]) -> tuple[str, ...]:
    """Return what makes a pool invalid as a whole; such a pool is not worth sending."""
    names = [Fields(device, "").text("name") for one in slices for device in one.devices]
    sets = {Fields(counters, "").text("name") for one in slices for counters in one.shared_counters}
    faults = [f"device {name} is there twice" for name in sorted(_repeated(names))]
    for one in slices:
        for device in one.devices:
            faults += _device_faults(Fields(device, "device"), counter_sets=sets)
    return tuple(faults)


def _device_faults(device: Fields, *, counter_sets: set[str]) -> Iterator[str]:
    name = device.text("name")
    attributes = device.optional_object("attributes")
    capacity = device.optional_object("capacity")
    count = sum(len(members.value) for members in (attributes, capacity) if members is not None)
    if count > PROPERTIES_PER_DEVICE:
        yield (
            f"device {name}: expected at most {PROPERTIES_PER_DEVICE} attributes and capacities,"
            f" got {count}"
        )
    for consumed in device.objects("consumesCounters"):
        counter_set_asked = consumed.text("counterSet")
        if counter_set_asked not in counter_sets:
            yield f"device {name}: there is no counter set {counter_set_asked}"


def _counter_set(gpu: Gpu) -> JsonObject:
    return {
        "name": counter_set_name(gpu.minor),
        "counters": counters_to_api(counter_set(gpu.profiles)),
    }


def _chunks(items: Sequence[JsonObject], size: int) -> Iterator[tuple[JsonObject, ...]]:
    for start in range(0, len(items), size):
        yield tuple(items[start : start + size])


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}
