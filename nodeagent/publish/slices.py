"""The ResourceSlices that a node should have, from what it offers and what the server keeps.

A pure function with a stable order: two agents that see the same hardware want the same slices,
byte for byte, and a restart changes nothing. The partitions of one GPU fill slices of their own,
so that what befalls one GPU changes as few slices as can be; all other devices share slices, cut
where a taint would cut them. Counter sets stand in slices of their own before all devices, or,
where the server wants it so, in the slice of the devices that draw on them (node-agent.md 4.4).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import structlog

from nodeagent.devices.model import Device
from nodeagent.fields import Fields, JsonObject
from nodeagent.publish.devices import Offer, counter_set_to_api, counters_of, device_to_api
from nodeagent.publish.features import Feature, Layout, Shape
from nodeagent.publish.limits import (
    COUNTER_SETS_PER_SLICE,
    COUNTERS_PER_MIXED_SLICE,
    DEVICE_NAME,
    DEVICES_PER_SLICE,
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DesiredSlice:
    """The content of one slice: devices or counter sets, as the API spells them; old ones both."""

    devices: tuple[JsonObject, ...] = ()
    shared_counters: tuple[JsonObject, ...] = ()

    def spec_members(self) -> JsonObject:
        """Return the members of `spec` that hold the content."""
        members: JsonObject = {}
        if self.shared_counters:
            members["sharedCounters"] = list(self.shared_counters)
        if self.devices or not self.shared_counters:
            members["devices"] = list(self.devices)
        return members


def slices_of(offer: Offer, shape: Shape) -> tuple[DesiredSlice, ...]:
    """Return the slices for an offer, at least one: an empty one says that the driver is up."""
    gpus = {device.gpu.minor: device.gpu for device in offer.inventory.devices}
    counters = {minor: counters_of(gpu, shape=shape) for minor, gpu in gpus.items()}
    offered = [
        device
        for device in offer.inventory.devices
        if _is_nameable(device)
        and (counters[device.gpu.minor] or _is_safe_without_counters(device))
        and _is_safe_without_taints(device, offer=offer, shape=shape)
    ]
    groups = [
        [
            device_to_api(device, offer=offer, shape=shape, gpu_counters=counters[device.gpu.minor])
            for device in group
        ]
        for _, group in groupby(
            offered, key=lambda device: device.gpu.minor if counters[device.gpu.minor] else None
        )
    ]
    sets = [
        counter_set_to_api(minor, counters[minor])
        for minor in dict.fromkeys(device.gpu.minor for device in offered)
        if counters[minor]
    ]
    if shape.layout is Layout.MIXED:
        return tuple(_mixed(groups, sets)) or (DesiredSlice(),)
    return (
        *(DesiredSlice(shared_counters=chunk) for chunk in _chunks(sets, COUNTER_SETS_PER_SLICE)),
        *(
            DesiredSlice(devices=chunk)
            for group in groups
            for chunk in _chunks(group, DEVICES_PER_SLICE)
        ),
    ) or (DesiredSlice(),)


def faults_of(slices: Sequence[DesiredSlice]) -> tuple[str, ...]:
    """Return what makes a pool invalid as a whole; such a pool is not worth sending."""
    names = [Fields(device, "").text("name") for one in slices for device in one.devices]
    sets = [Fields(counters, "").text("name") for one in slices for counters in one.shared_counters]
    faults = [f"device {name} is there twice" for name in sorted(_repeated(names))]
    faults += [f"counter set {name} is there twice" for name in sorted(_repeated(sets))]
    for one in slices:
        for device in one.devices:
            faults += _lost_references(Fields(device, "device"), counter_sets=set(sets))
    return tuple(faults)


def _is_nameable(device: Device) -> bool:
    if DEVICE_NAME.fullmatch(device.name):
        return True
    log.error("device left out", device=device.name, reason="its name is no DNS label")
    return False


def _is_safe_without_counters(device: Device) -> bool:
    """Hold back what could overlap where nothing would say so (node-agent.md 4.7).

    Static partitions exist side by side, so they never overlap. A GPU that is in use in parts is
    not offered whole.
    """
    if not device.gpu.is_dynamic:
        return True
    is_in_parts = any(one.instance is not None for one in device.gpu.partitions)
    return device.partition is None and not is_in_parts


def _is_safe_without_taints(device: Device, *, offer: Offer, shape: Shape) -> bool:
    taints = offer.taints.get(device.name, ())
    return Feature.TAINTS in shape or not any(taint.keeps_away for taint in taints)


def _mixed(
    groups: Iterable[Sequence[JsonObject]], sets: Iterable[JsonObject]
) -> Iterator[DesiredSlice]:
    """Put each GPU's counters and devices into one slice: there, no reference leaves a slice."""
    by_name = {Fields(one, "").text("name"): one for one in sets}
    for group in groups:
        consumed = Fields(group[0], "device").objects("consumesCounters")
        if not consumed:
            yield from (DesiredSlice(devices=chunk) for chunk in _chunks(group, DEVICES_PER_SLICE))
            continue
        devices = tuple(_within_a_mixed_slice(group))
        if len(devices) < len(group):
            left_out = [device["name"] for device in group[len(devices) :]]
            log.warning("devices left out", devices=left_out, reason="one slice holds no more")
        yield DesiredSlice(
            devices=devices, shared_counters=(by_name[consumed[0].text("counterSet")],)
        )


def _within_a_mixed_slice(devices: Sequence[JsonObject]) -> Iterator[JsonObject]:
    counters = 0
    for device in devices[:DEVICES_PER_SLICE]:
        (consumed,) = Fields(device, "device").objects("consumesCounters")
        counters += len(consumed.object("counters").value)
        if counters > COUNTERS_PER_MIXED_SLICE:
            return
        yield device


def _lost_references(device: Fields, *, counter_sets: set[str]) -> Iterator[str]:
    for consumed in device.objects("consumesCounters"):
        asked = consumed.text("counterSet")
        if asked not in counter_sets:
            yield f"device {device.text('name')}: there is no counter set {asked}"


def _chunks(items: Sequence[JsonObject], size: int) -> Iterator[tuple[JsonObject, ...]]:
    for start in range(0, len(items), size):
        yield tuple(items[start : start + size])


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}
