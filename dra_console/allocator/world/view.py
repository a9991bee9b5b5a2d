"""Devices as one set of claims can see them, so that equal ones are looked at once.

Drivers give every device something of its own, such as a UUID; claims read a model and a
size. What a claim reads of a device is known before it is searched: the attributes and
capacities that its expressions and constraints name (`Reads`), and beside those what every
claim sees, such as taints and counter draws. Devices that agree on all this are of one
*kind*, nodes whose pools hold devices of the same kinds in the same order have one *shape*.

Kinds and shapes are small numbers that mean something within their view alone. They say
nothing about use: who holds what is not part of a view, nor is where a device can be used
from, except that a shape tells which devices the node itself can use.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

from dra_console.allocator.cel.reads import Reads
from dra_console.allocator.inventory import Device, DeviceId, Node, NodeReach
from dra_console.allocator.world.added_taints import AddedTaints, PoolRules
from dra_console.allocator.world.counters import Counter
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.kinds import (
    CommonKinds,
    Lookup,
    Numbering,
    capacities_of,
    everything_of,
    looks_of,
)
from dra_console.allocator.world.nodes import reaches
from dra_console.allocator.world.pools import (
    NodePool,
    PoolStatus,
    PublishedDevice,
    PublishedSlice,
)

KINDS_LIMIT: Final = 4_096
"""A view with more kinds is not widened for another claim: it reads what tells devices apart."""


class _PoolShape(NamedTuple):
    status: PoolStatus
    seen: tuple[int, ...]
    counters: tuple[tuple[Counter, Hashable], ...]


class _Shape(NamedTuple):
    features: frozenset[str]
    pools: tuple[_PoolShape, ...]


class View:
    """Kinds of devices and shapes of nodes for claims that read no more than `reads`."""

    __slots__ = (
        "__weakref__",
        "_added",
        "_common",
        "_inventory",
        "_kinds",
        "_lookups",
        "_of_device",
        "_of_number",
        "_of_slice",
        "_shape_of_node",
        "_shapes",
        "_with_added",
        "compares_capacity",
        "reads",
    )

    def __init__(
        self,
        inventory: Inventory,
        common: CommonKinds,
        *,
        added_taints: AddedTaints,
        reads: Reads,
        compares_capacity: bool,
    ) -> None:
        self.reads: Final = reads
        self.compares_capacity: Final = compares_capacity
        """Whether total capacities are seen; those of shared devices always are."""
        self._inventory: Final = inventory
        self._common: Final = common
        self._added: Final = added_taints
        self._lookups: Final = tuple(Lookup.of(read) for read in sorted(reads.names, key=str))
        self._kinds = Numbering()
        self._of_slice: dict[PublishedSlice, tuple[int, ...]] = {}
        self._of_device: dict[PublishedDevice, int] = {}
        """Both as published, without what rules add."""
        self._with_added: Final[dict[tuple[tuple[int, ...], PoolRules], tuple[int, ...]]] = {}
        self._shapes: dict[_Shape, int] = {}
        self._of_number: list[_Shape] = []
        self._shape_of_node: Final[dict[Node, int]] = {}

    def on(self, inventory: Inventory, *, added_taints: AddedTaints) -> "View":
        """Look at another inventory, with what is known of slices in both."""
        other = View(
            inventory,
            self._common,
            added_taints=added_taints,
            reads=self.reads,
            compares_capacity=self.compares_capacity,
        )
        other._kinds = self._kinds
        other._of_slice = self._of_slice
        other._of_device = self._of_device
        if inventory is self._inventory and added_taints is self._added:
            other._shapes = self._shapes
            other._of_number = self._of_number
            other._shape_of_node.update(self._shape_of_node)
        return other

    def covers(self, reads: Reads, *, compares_capacity: bool) -> bool:
        """Tell whether claims that read this can be answered with it."""
        if compares_capacity and not self.compares_capacity:
            return False
        if self.reads.is_whole_device:
            return True
        return not reads.is_whole_device and reads.names <= self.reads.names

    @property
    def tells_all_apart(self) -> bool:
        """Whether so many kinds were found that hardly two devices are equal."""
        return len(self._kinds) > KINDS_LIMIT

    def kind(self, published: PublishedDevice) -> int:
        """Number the kind of a device; devices of one kind and pool are interchangeable.

        So are those of different pools, if they draw on no counters. Use and reach aside.
        """
        known = self._of_device.get(published)
        if known is None:
            common = self._common.of(published.device, published.slice)
            known = self._of_device[published] = self._kind(
                common, published.device, published.slice.driver
            )
        added = self._added.on(published.id)
        return self._tainted(known, looks_of(added)) if added else known

    def kinds_of(self, published: PublishedSlice) -> tuple[int, ...]:
        """Number the kinds of the devices of a slice, in order."""
        kinds = self._published_kinds(published)
        slice_ = published.slice
        rules = self._added.in_pool(slice_.driver, slice_.pool)
        if not rules.rules:
            return kinds
        if not rules.are_alike_for_all:
            return tuple(
                self._tainted(kind, looks_of(added)) if added else kind
                for kind, device in zip(kinds, slice_.devices, strict=True)
                for added in (self._added.on(DeviceId(slice_.driver, slice_.pool, device.name)),)
            )
        known = self._with_added.get((kinds, rules))
        if known is None:
            looks = looks_of(rule.taint for rule in rules.rules)
            known = self._with_added[kinds, rules] = tuple(
                self._tainted(kind, looks) for kind in kinds
            )
        return known

    def _published_kinds(self, published: PublishedSlice) -> tuple[int, ...]:
        known = self._of_slice.get(published)
        if known is None:
            driver = published.slice.driver
            known = self._of_slice[published] = tuple(
                self._kind(common, device, driver)
                for common, device in zip(
                    self._common.of_slice(published), published.slice.devices, strict=True
                )
            )
        return known

    def shape(self, node: Node) -> int:
        """Number the shape of a node: all that a search on it can see, but for use.

        Raises:
            NodeSelectorError: the node selector of a slice or device is malformed.

        """
        known = self._shape_of_node.get(node)
        if known is None:
            shape = self._shape(node)
            known = self._shape_of_node[node] = self._shapes.setdefault(shape, len(self._shapes))
            if known == len(self._of_number):
                self._of_number.append(shape)
        return known

    def devices_in(self, shape: int) -> tuple[tuple[int, ...], ...]:
        """List the kinds of the devices in each pool that is ready, in first-fit order.

        The kind of a device that the node itself cannot use is inverted (`~kind`).
        """
        return tuple(
            each.seen for each in self._of_number[shape].pools if each.status is PoolStatus.READY
        )

    def features_of(self, shape: int) -> frozenset[str]:
        """List the feature gates that the nodes of this shape declare."""
        return self._of_number[shape].features

    def forget_slice(self, published: PublishedSlice) -> None:
        """Drop what is known of a slice that is gone."""
        self._of_slice.pop(published, None)
        for device in published.devices if self._of_device else ():
            self._of_device.pop(device, None)

    def forget_node(self, node: Node) -> None:
        """Look again when the node is asked for next."""
        self._shape_of_node.pop(node, None)

    def _shape(self, node: Node) -> _Shape:
        return _Shape(
            features=node.declared_features,
            pools=tuple(
                _PoolShape(pool.status, self._seen(pool, node), tuple(pool.counters.items()))
                for pool in self._inventory.pools_on(node)
            ),
        )

    def _seen(self, pool: NodePool, node: Node) -> tuple[int, ...]:
        kinds: list[int] = []
        for each in pool.slices:
            if not each.has_devices:
                continue
            if each.slice.per_device_node_selection:
                kinds += [
                    kind if reaches(device.reach or NodeReach(), node=node) else ~kind
                    for kind, device in zip(self.kinds_of(each), each.slice.devices, strict=True)
                ]
            else:
                kinds += self.kinds_of(each)
        return tuple(kinds)

    def _tainted(self, kind: int, looks: Hashable) -> int:
        return self._kinds.of((kind, "with taints", looks))

    def _kind(self, common: int, device: Device, driver: str) -> int:
        if self.reads.is_whole_device:
            return self._kinds.of((common, everything_of(device)))
        seen = [lookup.find(device, driver=driver) for lookup in self._lookups]
        if self.compares_capacity:
            seen.append(capacities_of(device))
        return self._kinds.of((common, *seen))
