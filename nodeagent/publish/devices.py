"""One device as a ResourceSlice has it: attributes, capacities, counters, taints, shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from nodeagent.devices.mig import (
    BYTES_PER_MEBIBYTE,
    MigProfile,
    Partition,
    capacities,
    counter_set_name,
    counters_drawn,
    counters_drawn_by_whole,
)
from nodeagent.devices.model import Device, Gpu, Inventory
from nodeagent.devices.taint import Taint
from nodeagent.fields import JsonObject
from nodeagent.publish.attributes import attributes_of
from nodeagent.publish.features import Feature, Shape
from nodeagent.publish.limits import COUNTERS_PER_SET, fitting_attributes, fitting_taints
from nodeagent.quantity import quantity_of_bytes

WHOLE_GPU: Final = 1


@dataclass(frozen=True, slots=True)
class Offer:
    """All that a node wants to say of its devices."""

    inventory: Inventory
    taints: Mapping[str, tuple[Taint, ...]] = field(default_factory=dict)
    """By device; a device that is not there has none."""

    shares: int = WHOLE_GPU
    """Into how many equal shares of its memory claims may divide an undivided GPU."""

    with_serials: bool = False
    """Whether everybody who may list slices is told the serials of the boards."""


def device_to_api(
    device: Device, *, offer: Offer, shape: Shape, gpu_counters: Mapping[str, int]
) -> JsonObject:
    """Describe one device for a ResourceSlice of the v1 shape.

    `gpu_counters` are `counters_of` its GPU.
    """
    capacity = _capacity(device)
    described: JsonObject = {"name": device.name}
    if is_shared(device, offer=offer, shape=shape):
        described["allowMultipleAllocations"] = True
        capacity["memory"] = _shared_memory(device.gpu.memory_bytes, shares=offer.shares)
    described["attributes"] = fitting_attributes(
        attributes_of(
            device,
            source=offer.inventory.source,
            shape=shape,
            with_serials=offer.with_serials,
        ),
        device=device.name,
        capacities=len(capacity),
    )
    described["capacity"] = capacity
    if gpu_counters:
        # The undivided GPU takes all of it.
        drawn = counters_drawn(device.partition) if device.partition else gpu_counters
        described["consumesCounters"] = [
            {
                "counterSet": counter_set_name(device.gpu.minor),
                "counters": _counters_to_api(drawn),
            }
        ]
    taints = fitting_taints(
        taints_in(offer.taints.get(device.name, ()), shape=shape), device=device.name
    )
    if taints:
        described["taints"] = [_taint_to_api(taint) for taint in taints]
    return described


def counters_of(gpu: Gpu, *, shape: Shape) -> Mapping[str, int]:
    """Return the counters by which the devices of a GPU exclude each other, as dynamic MIG needs.

    None where its partitions exist side by side, or where the server takes no such counters.
    """
    if not gpu.is_dynamic or Feature.COUNTERS not in shape:
        return {}
    counters = counters_drawn_by_whole(gpu.profiles)
    return counters if len(counters) <= COUNTERS_PER_SET else {}


def taints_in(taints: Sequence[Taint], *, shape: Shape) -> tuple[Taint, ...]:
    """Return the taints that a server keeps."""
    return tuple(taint for taint in taints if feature_of(taint) in shape)


def feature_of(taint: Taint) -> Feature:
    """Return what a server needs to keep a taint."""
    return Feature.TAINTS if taint.keeps_away else Feature.INFORMING_TAINTS


def counter_set_to_api(minor: int, counters: Mapping[str, int]) -> JsonObject:
    """Describe what all devices of one GPU share."""
    return {"name": counter_set_name(minor), "counters": _counters_to_api(counters)}


def is_shared(device: Device, *, offer: Offer, shape: Shape) -> bool:
    """Tell whether several claims can have this device: an undivided GPU that stays undivided."""
    return (
        offer.shares > WHOLE_GPU
        and device.partition is None
        and not device.gpu.is_dynamic
        and Feature.SHARES in shape
        and _share_bytes(device.gpu.memory_bytes, offer.shares) > 0
    )


def _capacity(device: Device) -> JsonObject:
    if device.partition is not None:
        return _partition_capacity(device.partition, is_static=not device.gpu.is_dynamic)
    return {
        "memory": {"value": quantity_of_bytes(device.gpu.memory_bytes)},
        **_pieces(_most(device.gpu.profiles)),
    }


def _partition_capacity(partition: Partition, *, is_static: bool) -> JsonObject:
    memory_bytes = partition.profile.memory_mebibytes * BYTES_PER_MEBIBYTE
    slices = {f"memorySlice{index}": 1 for index in partition.slices} if is_static else {}
    return {
        "memory": {"value": quantity_of_bytes(memory_bytes)},
        **_pieces(capacities(partition.profile)),
        **_pieces(slices),
    }


def _most(profiles: Iterable[MigProfile]) -> dict[str, int]:
    most: dict[str, int] = {}
    for profile in profiles:
        for name, amount in capacities(profile).items():
            most[name] = max(amount, most.get(name, 0))
    return most


def _pieces(amounts: Mapping[str, int]) -> JsonObject:
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def _shared_memory(memory_bytes: int, *, shares: int) -> JsonObject:
    """Let claims take one share or more; one that asks for no amount gets all shares.

    So a claim that knows nothing of sharing stays alone on its GPU (KEP-5075).
    """
    share_bytes = _share_bytes(memory_bytes, shares)
    share = quantity_of_bytes(share_bytes)
    return {
        "value": quantity_of_bytes(memory_bytes),
        "requestPolicy": {
            "default": quantity_of_bytes(share_bytes * shares),
            "validRange": {"min": share, "step": share},
        },
    }


def _share_bytes(memory_bytes: int, shares: int) -> int:
    return memory_bytes // shares // BYTES_PER_MEBIBYTE * BYTES_PER_MEBIBYTE


def _counters_to_api(counters: Mapping[str, int]) -> JsonObject:
    """Spell counters as the API does; memory is in bytes, the others in pieces."""
    return {
        name: {"value": quantity_of_bytes(amount) if name == "memory" else str(amount)}
        for name, amount in counters.items()
    }


def _taint_to_api(taint: Taint) -> JsonObject:
    described: JsonObject = {"key": taint.key, "effect": taint.effect.value}
    if taint.value:
        described["value"] = taint.value
    return described
