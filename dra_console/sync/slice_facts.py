"""Read of a slice what its pool's rules are about: fast where it has the usual shape."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.model import JsonObject
from dra_console.sync.slice_shape import Draw, SliceShape, SpecFields


@dataclass(frozen=True, slots=True)
class Counters:
    """A counter set as it is declared, or as one device draws on it."""

    name: str
    counters: Collection[str]


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """What the rules for pools ask of one slice."""

    generation: int
    slice_count: int
    device_names: Sequence[str]
    declared: Sequence[Counters]
    draws: Sequence[tuple[str, Counters]]
    """With the name of the device that draws."""


def slice_facts(published: JsonObject) -> SliceFacts:
    """Read one slice, as `storable` leaves it.

    Raises:
        DecodeError: it cannot be read.

    """
    try:
        shape = msgspec.convert(published, SliceShape)
    except msgspec.ValidationError:
        return exact_facts(published)
    devices = shape.spec.devices
    return facts_of(shape.spec, [(device.name, device.consumes_counters) for device in devices])


def facts_of(spec: SpecFields, devices: Sequence[tuple[str, Sequence[Draw]]]) -> SliceFacts:
    """Put together what was read: the devices' names, each with what it draws."""
    return SliceFacts(
        generation=spec.pool.generation,
        slice_count=spec.pool.resource_slice_count,
        device_names=[name for name, _ in devices],
        declared=[Counters(each.name, each.counters) for each in spec.shared_counters],
        draws=[
            (name, Counters(draw.counter_set, draw.counters))
            for name, draws in devices
            for draw in draws
        ],
    )


def exact_facts(published: JsonObject) -> SliceFacts:
    """Read one slice by the allocator's decoder.

    Raises:
        DecodeError: it cannot be read.

    """
    decoded = decode_slice(published)
    return SliceFacts(
        generation=decoded.generation,
        slice_count=decoded.resource_slice_count,
        device_names=[device.name for device in decoded.devices],
        declared=[Counters(each.name, each.counters) for each in decoded.shared_counters],
        draws=[
            (device.name, Counters(draw.name, draw.counters))
            for device in decoded.devices
            for draw in device.consumes_counters
        ],
    )
