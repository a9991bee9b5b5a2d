"""What detection looks at, as small as tens of thousands of claims and devices need it.

Nothing here knows rows or requests; `reading` makes it from API objects. What could not be
read or was never listed is `None`: then nothing is said that depends on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from dra_console.allocator.model import (
    ConsumerReference,
    DeviceId,
    DeviceResult,
    DeviceTaintRule,
    DeviceWish,
    PoolId,
    Taint,
)
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.counters import Counter, Draw


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim that has devices or is being deleted."""

    uid: str
    namespace: str
    name: str
    results: tuple[DeviceResult, ...]
    wishes: Mapping[str, DeviceWish] = field(default_factory=dict, hash=False)
    """What was asked for, by `request` or `request/subrequest` as results name it."""

    is_allocated: bool = True
    reserved_for: tuple[ConsumerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    allocated_at: datetime | None = None
    """When the allocation was first seen."""

    deletion_requested_at: datetime | None = None
    node_name: str = ""
    """The only node that the allocation allows; empty: several, or none in particular."""

    allocated_by: str = ""
    """Field manager that wrote the allocation; empty: the API server does not say."""

    is_reserve_ahead: bool = False
    serves_extended_resource: bool = False
    """Made for a pod that does not name it; such pods are not mirrored."""

    is_readable: bool = True

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What of a published device matters while it is held."""

    taints: tuple[Taint, ...] = ()
    """Its own; rules come on top."""

    draws: tuple[Draw, ...] = ()
    capacity: Mapping[str, Quantity] | None = field(default=None, hash=False)
    """In total, of a device that several claims may share; None: they may not."""


PLAIN = DeviceFacts()
"""Most devices: no taint, no counters, not shared."""


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """What a ResourceSlice says of its devices."""

    name: str
    pool_id: PoolId
    generation: int
    slice_count: int
    devices: Mapping[str, DeviceFacts] = field(hash=False)
    counters: Mapping[Counter, Quantity] = field(default_factory=dict, hash=False)
    has_counters: bool = False
    """A slice with shared counters; its devices, if it names any, do not count."""


class PodFacts(NamedTuple):
    """A pod that may use claims."""

    uid: str
    phase: str
    node_name: str
    scheduler_name: str
    is_deleting: bool


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The newest generation of a pool."""

    generation: int
    slices_seen: int
    slices_expected: int
    devices: Mapping[str, DeviceFacts]
    counters: Mapping[Counter, Quantity]

    @property
    def is_complete(self) -> bool:
        return self.slices_seen == self.slices_expected


@dataclass(frozen=True, slots=True)
class World:
    """A cluster at one moment, as far as it is known."""

    claims: Sequence[HeldClaim] = ()
    slices: Sequence[SliceFacts] | None = ()
    mismatches: Mapping[str, Sequence["Mismatch"]] = field(default_factory=dict)
    """By claim UID; computed beside, since it needs whole devices (`mismatches`)."""

    taint_rules: Sequence[DeviceTaintRule] = ()
    pods: Mapping[tuple[str, str], PodFacts] | None = field(default_factory=dict)
    """By namespace and name."""

    nodes: Mapping[str, bool | None] | None = field(default_factory=dict)
    """Whether each is ready, by name; None: it does not say."""


class Mismatch(NamedTuple):
    """A device that is not what its request asks for any more."""

    request: str
    device: DeviceId
    reason: str


def pools_of(slices: Iterable[SliceFacts]) -> Mapping[PoolId, PoolFacts]:
    """Fold slices into the newest generation of each pool."""
    newest: defaultdict[PoolId, list[SliceFacts]] = defaultdict(list)
    for each in slices:
        known = newest[each.pool_id]
        if known and each.generation < known[0].generation:
            continue
        if known and each.generation > known[0].generation:
            known.clear()
        known.append(each)
    return {pool_id: _pool(slices) for pool_id, slices in newest.items()}


def _pool(slices: list[SliceFacts]) -> PoolFacts:
    first = slices[0]
    if len(slices) == 1:
        devices = {} if first.has_counters else first.devices
        return PoolFacts(first.generation, 1, first.slice_count, devices, first.counters)
    devices = {}
    counters: dict[Counter, Quantity] = {}
    for each in slices:
        counters |= each.counters
        if not each.has_counters:
            devices |= each.devices
    return PoolFacts(first.generation, len(slices), first.slice_count, devices, counters)
