"""Pools as one node sees them: generation, completeness, validity.

A node looks at the slices that it can use; whether the pool is whole is judged against all
slices of the pool. Devices of an incomplete pool (the driver is between two states) or of
an invalid one (its slices contradict each other) are never allocated.

A slice that the feature gates make nobody understand is looked past. What pools are made of is
in `published`; its names can be imported from here as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.contradictions import counter_contradiction, duplicate_device
from dra_console.allocator.world.counters import Counter, totals_of
from dra_console.allocator.world.published import (
    PublishedDevice,
    PublishedSlice,
    publish,
)

__all__ = [
    "NodePool",
    "Pool",
    "PoolGeneration",
    "PoolStatus",
    "PublishedDevice",
    "PublishedSlice",
    "gather",
    "publish",
]

FEW: Final = 8


class PoolStatus(StrEnum):
    """Whether devices of a pool may be allocated."""

    READY = "ready"
    INCOMPLETE = "incomplete"
    INVALID = "invalid"


@dataclass(slots=True, eq=False)
class PoolGeneration:
    """The slices of one generation of a pool, on all nodes; shared by what nodes see of it."""

    slices: tuple[PublishedSlice, ...]
    _devices: tuple[PublishedDevice, ...] | None = None
    _counters: Mapping[Counter, Quantity] | None = None
    _contradiction: str | None = None

    @property
    def devices(self) -> tuple[PublishedDevice, ...]:
        """All devices, in no particular order of slices."""
        if self._devices is None:
            self._devices = tuple(
                device for each in self.slices if each.has_devices for device in each.devices
            )
        return self._devices

    @property
    def counters(self) -> Mapping[Counter, Quantity]:
        """What the pool publishes of each shared counter."""
        if self._counters is None:
            self._counters = totals_of(
                counter_set for each in self.slices for counter_set in each.slice.shared_counters
            )
        return self._counters

    @property
    def contradiction(self) -> str:
        """What is wrong with the counters; empty if nothing is."""
        if self._contradiction is None:
            self._contradiction = counter_contradiction(self.slices)
        return self._contradiction


@dataclass(slots=True, eq=False)
class Pool:
    """All slices of a pool in the cluster, of whatever generation."""

    slices: tuple[PublishedSlice, ...]
    _newest: int | None = None
    _generations: dict[int, PoolGeneration] = field(default_factory=dict)
    _indexed: int = 0
    _with_device: "dict[str, list[NodePool]]" = field(default_factory=dict)
    _on_nodes: "dict[tuple[int, tuple[PublishedSlice, ...]], NodePool | None]" = field(
        default_factory=dict
    )

    @property
    def newest(self) -> int:
        """Its highest generation."""
        if self._newest is None:
            self._newest = max(each.slice.generation for each in self.slices)
        return self._newest

    def generation(self, number: int) -> PoolGeneration:
        """Return the slices of one generation."""
        known = self._generations.get(number)
        if known is None:
            known = self._generations[number] = PoolGeneration(
                tuple(
                    each
                    for each in self.slices
                    if each.slice.generation == number and not each.names_groups_unasked
                )
            )
        return known

    def seen_through(self, slices: Sequence[PublishedSlice]) -> "NodePool | None":
        """Return the pool as nodes have it that can use just these slices of one generation.

        How many slices it should have, the first one says. Nothing if they are outdated.
        """
        wanted = slices[0].slice.resource_slice_count
        ordered = tuple(sorted(slices, key=lambda each: each.slice.name))
        if (wanted, ordered) not in self._on_nodes:
            self._on_nodes[wanted, ordered] = _node_pool(ordered, wanted=wanted, everywhere=self)
        return self._on_nodes[wanted, ordered]

    def seen_with(self, device_name: str) -> "Sequence[NodePool]":
        """List what nodes have of the pool whose answers depend on how a device is used."""
        known = [each for each in self._on_nodes.values() if each is not None]
        if len(known) < FEW or any(each.slice.shared_counters for each in self.slices):
            return known
        for each in known[self._indexed :]:
            for slice_ in each.slices:
                for device in slice_.slice.devices:
                    self._with_device.setdefault(device.name, []).append(each)
        self._indexed = len(known)
        return self._with_device.get(device_name, ())


@dataclass(slots=True, eq=False)
class NodePool:
    """A pool with the slices that one node can use, ordered by name."""

    id: PoolId
    status: PoolStatus
    problem: str
    slices: tuple[PublishedSlice, ...]
    generation: PoolGeneration
    _devices: tuple[PublishedDevice, ...] | None = None

    @property
    def devices(self) -> tuple[PublishedDevice, ...]:
        """Devices that the node sees, in first-fit order."""
        if self._devices is None:
            self._devices = tuple(
                device for each in self.slices if each.has_devices for device in each.devices
            )
        return self._devices

    @property
    def all_devices(self) -> tuple[PublishedDevice, ...]:
        """Devices of the whole pool, on all nodes."""
        return self.generation.devices

    @property
    def counters(self) -> Mapping[Counter, Quantity]:
        """Shared counters of the whole pool."""
        return self.generation.counters

    @property
    def has_binding_conditions(self) -> bool:
        """Tell whether it stands behind other pools; what cannot be used now stands anywhere."""
        return self.status is PoolStatus.READY and any(
            device.binding_conditions
            for each in self.slices
            if each.has_devices
            for device in each.slice.devices
        )


def gather(
    relevant: Iterable[PublishedSlice], *, pool_of: Callable[[PoolId], Pool]
) -> tuple[NodePool, ...]:
    """Group the slices relevant for one node into pools, in first-fit order.

    `pool_of` finds all slices of a pool in the cluster. Pools of which only an outdated
    generation is visible are left out. Pools with binding conditions come last, otherwise the
    order is driver, then pool name; inside a pool slices are ordered by name.
    """
    newest: dict[PoolId, list[PublishedSlice]] = {}
    for each in relevant:
        known = newest.setdefault(each.pool_id, [])
        if known and each.slice.generation < known[0].slice.generation:
            continue
        if known and each.slice.generation > known[0].slice.generation:
            known.clear()
        known.append(each)
    pools = [
        pool
        for pool_id, slices in newest.items()
        if (pool := pool_of(pool_id).seen_through(slices)) is not None
    ]
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def _node_pool(
    slices: tuple[PublishedSlice, ...], *, wanted: int, everywhere: Pool
) -> NodePool | None:
    number = slices[0].slice.generation
    generation = everywhere.generation(number)
    is_whole_here = len(slices) == wanted
    may_stay = is_whole_here and slices[0].rules.quirks.obsolete_generation_stays
    if everywhere.newest > number and not may_stay:
        return None
    if is_whole_here and len(generation.slices) != wanted:
        generation = PoolGeneration(slices)
    status, problem = PoolStatus.READY, ""
    if not is_whole_here and len(generation.slices) != wanted:
        status = PoolStatus.INCOMPLETE
        problem = f"{len(generation.slices)} of {wanted} slices of generation {number}"
    elif contradiction := duplicate_device(slices) or generation.contradiction:
        status, problem = PoolStatus.INVALID, contradiction
    return NodePool(slices[0].pool_id, status, problem, slices, generation)
