"""Slices and devices with everything that is derived from them, each as it is asked for.

Feature gates are applied here once: taints and counters that nobody looks at are not there.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.inventory import (
    AttributeValue,
    Device,
    DeviceId,
    Node,
    NodeReach,
    PoolId,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.world.counters import Draw, draws_of
from dra_console.allocator.world.nodes import reaches


@dataclass(slots=True, eq=False)
class PublishedDevice:
    """A device in its slice, with everything that is derived from the two; one per device."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    reach: NodeReach
    is_reach_own: bool
    """Whether the slice leaves node selection to its devices."""

    taints: tuple[Taint, ...]
    """Its own; DeviceTaintRules may add others (`AddedTaints`)."""

    draws: tuple[Draw, ...]
    is_shareable: bool = False
    """Whether several allocations may have a share of it."""

    is_hidden: bool = False
    """Whether no request may match it, since a feature gate is off."""

    is_barred: bool = False
    """Whether no request may have it although it matches, since a feature gate is off."""

    skip_node_operations: tuple[str, ...] = ()
    """What its node must be able to skip; empty unless the feature gate is on."""

    _facts: DeviceFacts | None = None

    @property
    def facts(self) -> DeviceFacts:
        """What expressions see of it; made when first asked for, since few devices are."""
        if self._facts is None:
            self._facts = facts_of(self.device, driver=self.id.driver)
        return self._facts

    def attribute(self, name: str) -> AttributeValue | None:
        """Look up `domain/id` as constraints do: bare names are of the driver's domain."""
        attributes = self.device.attributes
        found = attributes.get(name)
        if found is None and name.startswith(self.id.driver):
            domain, _, bare = name.partition("/")
            if domain == self.id.driver:
                return attributes.get(bare)
        return found


@dataclass(slots=True, eq=False)
class PublishedSlice:
    """A slice with its devices; compared by identity."""

    slice: ResourceSlice
    rules: Rules = DEFAULT_RULES
    _devices: tuple[PublishedDevice, ...] | None = None
    _is_ignored: bool | None = None
    _names_groups_unasked: bool | None = None

    @property
    def pool_id(self) -> PoolId:
        return self.slice.pool_id

    @property
    def has_devices(self) -> bool:
        """Tell whether its devices count: in a slice with shared counters none do."""
        return not self.slice.shared_counters

    @property
    def is_ignored(self) -> bool:
        """Tell whether nodes look past the slice, since a feature gate is off.

        A pool with such a slice is judged by the others: it lacks one, unless the pool is
        found whole elsewhere.
        """
        if self._is_ignored is None:
            self._is_ignored = self.names_groups_unasked or (
                (self.slice.per_device_node_selection or bool(self.slice.shared_counters))
                and Feature.PARTITIONABLE_DEVICES not in self.rules.features
            )
        return self._is_ignored

    @property
    def names_groups_unasked(self) -> bool:
        """Tell whether a device names compatibility groups that nobody would heed."""
        if self._names_groups_unasked is None:
            self._names_groups_unasked = (
                Feature.COMPATIBILITY_GROUPS not in self.rules.features
                and any(
                    consumed.compatibility_groups
                    for device in self.slice.devices
                    if device.consumes_counters
                    for consumed in device.consumes_counters
                )
            )
        return self._names_groups_unasked

    @property
    def devices(self) -> tuple[PublishedDevice, ...]:
        """Its devices in order; made when first asked for, since most nodes are like others."""
        if self._devices is None:
            gates = _Gates.of(self.rules)
            self._devices = tuple(
                _published(device, self.slice, gates=gates) for device in self.slice.devices
            )
        return self._devices

    def is_relevant(self, node: Node) -> bool:
        """Tell whether the node can use something of the slice.

        Raises:
            NodeSelectorError: a node selector is malformed, of a slice that is looked at.

        """
        if self.is_ignored:
            return False
        if self.slice.per_device_node_selection:
            return any(
                reaches(device.reach or NodeReach(), node=node) for device in self.slice.devices
            )
        return reaches(self.slice.reach, node=node)


def publish(slice_: ResourceSlice, *, rules: Rules = DEFAULT_RULES) -> PublishedSlice:
    """Take a slice with what is derived from it and its devices, each as it is asked for."""
    return PublishedSlice(slice_, rules)


class _Gates(NamedTuple):
    """What the feature gates make of devices; looked up once for all devices of a slice."""

    has_taints: bool
    has_counters: bool
    has_shares: bool
    has_conditions: bool
    can_skip: bool
    is_skipping_unseen: bool
    """Whether operations to skip are looked past, since their gate is off."""

    @classmethod
    def of(cls, rules: Rules) -> Self:
        return cls(
            has_taints=Feature.DEVICE_TAINTS in rules.features,
            has_counters=Feature.PARTITIONABLE_DEVICES in rules.features,
            has_shares=Feature.CONSUMABLE_CAPACITY in rules.features,
            has_conditions=Feature.BINDING_CONDITIONS in rules.features,
            can_skip=Feature.OPTIONAL_NODE_OPERATIONS in rules.features,
            is_skipping_unseen=rules.quirks.operations_are_skipped_unseen
            and not rules.is_experimental,
        )


def _published(device: Device, slice_: ResourceSlice, *, gates: _Gates) -> PublishedDevice:
    device_id = DeviceId(slice_.driver, slice_.pool, device.name)
    is_reach_own = slice_.per_device_node_selection
    may_skip = gates.can_skip or gates.is_skipping_unseen
    return PublishedDevice(
        id=device_id,
        device=device,
        slice=slice_,
        reach=(device.reach or NodeReach()) if is_reach_own else slice_.reach,
        is_reach_own=is_reach_own,
        taints=device.taints if gates.has_taints else (),
        draws=draws_of(device) if device.consumes_counters and gates.has_counters else (),
        is_shareable=device.allow_multiple_allocations and gates.has_shares,
        is_hidden=bool(device.binding_conditions) and not gates.has_conditions,
        is_barred=(bool(device.consumes_counters) and not gates.has_counters)
        or (bool(slice_.skip_node_operations) and not may_skip),
        skip_node_operations=slice_.skip_node_operations if gates.can_skip else (),
    )
