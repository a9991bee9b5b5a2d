"""Pools as one node sees them: generation, completeness, validity.

A node looks at the slices that it can use; whether the pool is whole is judged against all
slices of the pool. Devices of an incomplete pool (the driver is between two states) or of
an invalid one (its slices contradict each other) are never allocated.

One consequence is kept from upstream: if every slice of an older generation reaches this
node, a newer generation that lives on other nodes alone is not noticed here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.inventory import (
    Device,
    DeviceId,
    DeviceTaintRule,
    Node,
    NodeReach,
    PoolId,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.counters import Counter, Draw, draws_of, totals_of
from dra_console.allocator.world.nodes import reaches
from dra_console.allocator.world.taints import taints_from


@dataclass(slots=True, eq=False)
class PublishedDevice:
    """A device in its slice, with everything that is derived from the two; one per device."""

    id: DeviceId
    device: Device
    reach: NodeReach
    is_reach_own: bool
    """Whether the slice leaves node selection to its devices."""

    taints: tuple[Taint, ...]
    """Its own, then those of DeviceTaintRules."""

    draws: tuple[Draw, ...]
    _facts: DeviceFacts | None = None

    @property
    def facts(self) -> DeviceFacts:
        """What expressions see of it; made when first asked for, since few devices are."""
        if self._facts is None:
            self._facts = facts_of(self.device, driver=self.id.driver)
        return self._facts


@dataclass(slots=True, eq=False)
class PublishedSlice:
    """A slice with its devices; compared by identity."""

    slice: ResourceSlice
    rules: tuple[DeviceTaintRule, ...]
    _devices: tuple[PublishedDevice, ...] | None = None

    @property
    def pool_id(self) -> PoolId:
        return self.slice.pool_id

    @property
    def devices(self) -> tuple[PublishedDevice, ...]:
        """Its devices in order; made when first asked for, since most nodes are like others."""
        if self._devices is None:
            self._devices = tuple(
                _published(device, slice_=self.slice, rules=self.rules)
                for device in self.slice.devices
            )
        return self._devices

    def is_relevant(self, node: Node) -> bool:
        """Tell whether the node can use something of the slice.

        Raises:
            NodeSelectorError: a node selector is malformed.

        """
        if self.slice.per_device_node_selection:
            return any(
                reaches(device.reach or NodeReach(), node=node) for device in self.slice.devices
            )
        return reaches(self.slice.reach, node=node)


class PoolStatus(StrEnum):
    """Whether devices of a pool may be allocated."""

    READY = "ready"
    INCOMPLETE = "incomplete"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, eq=False)
class NodePool:
    """A pool with the slices that one node can use.

    `all_devices` and `counters` are those of the whole pool, on all nodes.
    """

    id: PoolId
    status: PoolStatus
    problem: str
    devices: tuple[PublishedDevice, ...]
    all_devices: tuple[PublishedDevice, ...]
    counters: Mapping[Counter, Quantity]

    @property
    def has_binding_conditions(self) -> bool:
        return any(published.device.binding_conditions for published in self.devices)


def publish(slice_: ResourceSlice, *, rules: Iterable[DeviceTaintRule]) -> PublishedSlice:
    """Take a slice with what is derived from it and its devices, each as it is asked for."""
    return PublishedSlice(slice_, tuple(rules))


def _published(
    device: Device, *, slice_: ResourceSlice, rules: Sequence[DeviceTaintRule]
) -> PublishedDevice:
    device_id = DeviceId(slice_.driver, slice_.pool, device.name)
    is_reach_own = slice_.per_device_node_selection
    return PublishedDevice(
        id=device_id,
        device=device,
        reach=(device.reach or NodeReach()) if is_reach_own else slice_.reach,
        is_reach_own=is_reach_own,
        taints=(*device.taints, *taints_from(rules, device_id=device_id)),
        draws=draws_of(device),
    )


def gather(
    relevant: Iterable[PublishedSlice], *, of_pool: Mapping[PoolId, Sequence[PublishedSlice]]
) -> tuple[NodePool, ...]:
    """Group the slices relevant for one node into pools, in first-fit order.

    `of_pool` holds all slices of the cluster. Pools of which only an outdated generation is
    visible are left out. Pools with binding conditions come last, otherwise the order is
    driver, then pool name; inside a pool slices are ordered by name.
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
        if (pool := _pool(pool_id, slices, everywhere=of_pool[pool_id])) is not None
    ]
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def _pool(
    pool_id: PoolId, slices: Sequence[PublishedSlice], *, everywhere: Sequence[PublishedSlice]
) -> NodePool | None:
    generation = slices[0].slice.generation
    wanted = slices[0].slice.resource_slice_count
    of_generation = [each for each in everywhere if each.slice.generation == generation]
    is_whole_here = len(slices) == wanted
    if not is_whole_here and any(each.slice.generation > generation for each in everywhere):
        return None
    ordered = sorted(slices, key=lambda each: each.slice.name)
    status, problem = PoolStatus.READY, ""
    if not is_whole_here and len(of_generation) != wanted:
        status = PoolStatus.INCOMPLETE
        problem = f"{len(of_generation)} of {wanted} slices of generation {generation}"
    elif contradiction := _contradiction(ordered, of_generation=of_generation):
        status, problem = PoolStatus.INVALID, contradiction
    return NodePool(
        id=pool_id,
        status=status,
        problem=problem,
        devices=tuple(device for each in ordered for device in each.devices),
        all_devices=tuple(device for each in of_generation for device in each.devices),
        counters=totals_of(
            counter_set for each in of_generation for counter_set in each.slice.shared_counters
        ),
    )


def _contradiction(
    slices: Sequence[PublishedSlice], *, of_generation: Sequence[PublishedSlice]
) -> str:
    names: set[str] = set()
    for published in (device for each in slices for device in each.devices):
        if published.id.device in names:
            return f"duplicate device {published.id.device}"
        names.add(published.id.device)
    counter_sets: dict[str, frozenset[str]] = {}
    for counter_set in (shared for each in of_generation for shared in each.slice.shared_counters):
        if counter_set.name in counter_sets:
            return f"duplicate counter set {counter_set.name}"
        counter_sets[counter_set.name] = frozenset(counter_set.counters)
    for published in (device for each in of_generation for device in each.devices):
        for counter_set in published.device.consumes_counters:
            if counter_set.name not in counter_sets:
                return f"device {published.id.device} draws on no such set {counter_set.name}"
            unknown = set(counter_set.counters) - counter_sets[counter_set.name]
            if unknown:
                return (
                    f"device {published.id.device} draws on no such counter "
                    f"{min(unknown)} of {counter_set.name}"
                )
    return ""
