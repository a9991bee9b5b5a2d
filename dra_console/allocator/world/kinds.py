"""What can be seen of a device, as small numbers that are equal for equal devices.

An attribute or capacity is looked up where the driver put it, without grouping the device's
attributes by domain first, since that is done for every device of a fleet.
"""

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.cel.reads import Read
from dra_console.allocator.facts import fault_of
from dra_console.allocator.inventory import Device, ResourceSlice, Taint
from dra_console.allocator.world.pools import PublishedSlice


class Numbering:
    """Gives equal things equal numbers, from 0."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: Final[dict[Hashable, int]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, thing: Hashable) -> int:
        """Return the number of a thing."""
        return self._numbers.setdefault(thing, len(self._numbers))


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where a device keeps what an expression calls `group[domain].name`."""

    is_capacity: bool
    domain: str
    qualified: str
    bare: str | None
    """The name alone, which means the driver's domain; `None` if it has a slash or is open."""

    is_whole_domain: bool

    @classmethod
    def of(cls, read: Read) -> "Lookup":
        name = read.name
        return cls(
            is_capacity=read.group == "capacity",
            domain=read.domain,
            qualified=f"{read.domain}/{name or ''}",
            bare=None if name is None or "/" in name else name,
            is_whole_domain=name is None,
        )

    def find(self, device: Device, *, driver: str) -> Hashable:
        """Return what the device has there."""
        if self.is_capacity:
            return self._capacity(device, driver)
        attributes = device.attributes
        if self.is_whole_domain:
            return tuple(
                (name, attributes[key].kind, attributes[key].value)
                for name, key in self._of_domain(attributes, driver)
            )
        found = attributes.get(self.qualified)
        if found is None and self.bare is not None and self.domain == driver:
            found = attributes.get(self.bare)
        return None if found is None else (found.kind, found.value)

    def _capacity(self, device: Device, driver: str) -> Hashable:
        capacity = device.capacity
        if self.is_whole_domain:
            return tuple(
                (name, capacity[key].value.nanos) for name, key in self._of_domain(capacity, driver)
            )
        found = capacity.get(self.qualified)
        if found is None and self.bare is not None and self.domain == driver:
            found = capacity.get(self.bare)
        return None if found is None else found.value.nanos

    def _of_domain(self, keys: Collection[str], driver: str) -> list[tuple[str, str]]:
        """List the names of the domain and under which key each stands, the qualified one first."""
        found = {}
        if self.domain == driver:
            found = {key: key for key in keys if "/" not in key}
        start = len(self.qualified)
        found |= {key[start:]: key for key in keys if key.startswith(self.qualified)}
        return sorted(found.items())


def _has_amounts(device: Device) -> bool:
    """Tell whether its capacities count even if a claim asks for none."""
    return device.allow_multiple_allocations or any(
        each.request_policy is not None or each.value.nanos < 0 for each in device.capacity.values()
    )


def _draws(device: Device) -> Hashable:
    return tuple(
        (
            each.name,
            each.compatibility_groups,
            tuple((name, amount.nanos) for name, amount in each.counters.items()),
        )
        for each in device.consumes_counters
    )


def capacities_of(device: Device) -> Hashable:
    """Tell total capacities and their policies apart."""
    return tuple(
        (name, each.value.nanos, each.request_policy)
        for name, each in sorted(device.capacity.items(), key=lambda entry: entry[0])
    )


def looks_of(taints: Iterable[Taint]) -> Hashable:
    """Tell taints apart; when they were added makes no difference."""
    return tuple((each.key, each.value, each.effect) for each in taints)


def everything_of(device: Device) -> Hashable:
    """Tell apart whatever an expression can look at."""
    attributes = sorted(device.attributes.items(), key=lambda entry: entry[0])
    return (
        tuple((name, each.kind, each.value) for name, each in attributes),
        capacities_of(device),
    )


class CommonKinds:
    """What every claim sees of a device as it is published, whatever it reads.

    Shared by all views. Taints that rules add are not part of it.
    """

    __slots__ = ("_kinds", "_of_slice")

    def __init__(self) -> None:
        self._kinds: Final = Numbering()
        self._of_slice: Final[dict[PublishedSlice, tuple[int, ...]]] = {}

    @property
    def slices_known(self) -> int:
        """Count the slices that were looked at, those that are gone since included."""
        return len(self._of_slice)

    def of_slice(self, published: PublishedSlice) -> tuple[int, ...]:
        """Number the devices of a slice."""
        known = self._of_slice.get(published)
        if known is None:
            known = self._of_slice[published] = tuple(
                self.of(device, published.slice) for device in published.slice.devices
            )
        return known

    def of(self, device: Device, slice_: ResourceSlice) -> int:
        """Number one device."""
        return self._kinds.of(
            (
                slice_.driver,
                slice_.skip_node_operations,
                device.allow_multiple_allocations,
                fault_of(device),
                bool(device.binding_conditions),
                looks_of(device.taints) if device.taints else (),
                _draws(device) if device.consumes_counters else (),
                capacities_of(device) if _has_amounts(device) else None,
            )
        )

    def forget(self, published: PublishedSlice) -> None:
        """Drop what is known of a slice that is gone."""
        self._of_slice.pop(published, None)
