"""The plain method's search for one claim on one node: depth first, device by device.

The order of the checks is upstream's: in use, selectors, capacity, counters, constraints.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dra_console.allocator.cel.selectors import Program
from dra_console.allocator.facts import facts_of
from dra_console.allocator.inventory import Device, DeviceId, PoolId, ResourceSlice
from dra_console.allocator.model import DeviceConstraint, DeviceWish
from dra_console.allocator.quantity import Quantity

NOTHING: Final = Quantity(0)
Counters: TypeAlias = dict[tuple[str, str], Quantity]
"""Amounts by counter set and counter."""


class OutOfTimeError(Exception):
    """The search took longer than it was allowed to."""


@dataclass(slots=True)
class InUse:
    """What allocated claims hold, as upstream's AllocatedState."""

    devices: set[DeviceId] = field(default_factory=set)
    shared: dict[DeviceId, dict[str, Quantity]] = field(default_factory=dict)

    def hold(
        self, device: DeviceId, *, shared: bool, consumed: Mapping[str, Quantity] | None
    ) -> None:
        """Count one result of an allocation."""
        if not shared:
            self.devices.add(device)
            return
        booked = self.shared.setdefault(device, {})
        for name, amount in (consumed or {}).items():
            booked[name] = booked.get(name, NOTHING) + amount


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request with its selectors, those of the class first."""

    wish: DeviceWish
    programs: Sequence[Program]


@dataclass(frozen=True, slots=True)
class Found:
    """A device of a pool that is whole; `pool` holds all slices of it."""

    id: DeviceId
    device: Device
    pool: Sequence[ResourceSlice]


@dataclass(frozen=True, slots=True)
class Pick:
    """A device that the search has taken, and what of a shared one."""

    found: Found
    consumed: Mapping[str, Quantity] | None


@dataclass(slots=True)
class NodeSearch:
    """One search; the answer is in `picks` when it has succeeded."""

    wanted: Sequence[Wanted]
    constraints: Sequence[DeviceConstraint]
    devices: Sequence[Found]
    held: InUse
    counters_left: dict[PoolId, Counters]
    """What claims of others leave of each pool's counters, filled on demand."""

    deadline: float
    picks: list[Pick] = field(default_factory=list)
    _selectable: dict[tuple[int, DeviceId], bool] = field(default_factory=dict)

    def solve(self, *, request: int, number: int, start: int) -> bool:
        """Take device `number` of a request and everything after it, first fit.

        Raises:
            OutOfTimeError: the deadline has passed.

        """
        if time.perf_counter() > self.deadline:
            raise OutOfTimeError
        if request == len(self.wanted):
            return True
        wanted = self.wanted[request]
        if number == wanted.wish.count:
            return self.solve(request=request + 1, number=0, start=0)
        for position in range(start, len(self.devices)):
            pick = self._possible(self.devices[position], wanted, request=request)
            if pick is None:
                continue
            self.picks.append(pick)
            if self.solve(request=request, number=number + 1, start=position + 1):
                return True
            self.picks.pop()
        return False

    def _possible(self, found: Found, wanted: Wanted, *, request: int) -> Pick | None:
        if found.id in self.held.devices or any(found.id == pick.found.id for pick in self.picks):
            return None
        if not self._is_selectable(found, wanted, request=request):
            return None
        consumed: Mapping[str, Quantity] | None = None
        if found.device.allow_multiple_allocations or wanted.wish.capacity:
            consumed = _consumed(found.device, requested=wanted.wish.capacity or {})
            if consumed is None or not self._has_capacity(found, consumed):
                return None
        if found.device.consumes_counters and not self._has_counters(found):
            return None
        return Pick(found, consumed) if self._satisfies_constraints(found) else None

    def _is_selectable(self, found: Found, wanted: Wanted, *, request: int) -> bool:
        known = self._selectable.get((request, found.id))
        if known is None:
            facts = facts_of(found.device, driver=found.id.driver)
            known = all(program.evaluate_anew(facts) is True for program in wanted.programs)
            self._selectable[request, found.id] = known
        return known

    def _has_capacity(self, found: Found, consumed: Mapping[str, Quantity]) -> bool:
        booked = self.held.shared.get(found.id, {})
        return all(
            booked.get(name, NOTHING) + amount <= found.device.capacity[name].value
            for name, amount in consumed.items()
        )

    def _has_counters(self, found: Found) -> bool:
        pool_id = found.id.pool_id
        left = self.counters_left.get(pool_id)
        if left is None:
            left = self.counters_left[pool_id] = _unheld_counters(found.pool, held=self.held)
        drawing = [pick.found.device for pick in self.picks if pick.found.id.pool_id == pool_id]
        drawn = _drawn([*drawing, found.device])
        return all(amount <= left[counter] for counter, amount in drawn.items())

    def _satisfies_constraints(self, found: Found) -> bool:
        for constraint in self.constraints:
            domain, _, name = (constraint.match_attribute or "").partition("/")
            values = [
                facts_of(each.device, driver=each.id.driver).attributes.get(domain, {}).get(name)
                for each in (found, *(pick.found for pick in self.picks[:1]))
            ]
            if None in values or values[0] != values[-1]:
                return False
        return True


def _consumed(
    device: Device, *, requested: Mapping[str, Quantity]
) -> Mapping[str, Quantity] | None:
    if not device.capacity.keys() >= requested.keys():
        return None
    consumed = {}
    for name, capacity in device.capacity.items():
        amount, policy = requested.get(name), capacity.request_policy
        if amount is None:
            amount = policy.default if policy and policy.default else capacity.value
        elif policy is not None and policy.valid_range is not None:
            valid = policy.valid_range
            step = valid.step.nanos if valid.step else 1
            steps = max(0, -(-(amount.nanos - valid.minimum.nanos) // step))
            amount = Quantity(valid.minimum.nanos + steps * step, valid.minimum.family)
            if valid.maximum is not None and amount > valid.maximum:
                return None
        consumed[name] = amount
    return consumed


def _unheld_counters(pool: Sequence[ResourceSlice], *, held: InUse) -> Counters:
    total = {
        (shared.name, name): amount
        for each in pool
        for shared in each.shared_counters
        for name, amount in shared.counters.items()
    }
    drawn = _drawn(
        device
        for each in pool
        for device in each.devices
        if DeviceId(each.driver, each.pool, device.name) in held.devices
    )
    return {counter: amount - drawn.get(counter, NOTHING) for counter, amount in total.items()}


def _drawn(devices: Iterable[Device]) -> Counters:
    drawn: Counters = {}
    for device in devices:
        for counter_set in device.consumes_counters:
            for name, amount in counter_set.counters.items():
                counter = (counter_set.name, name)
                drawn[counter] = drawn.get(counter, NOTHING) + amount
    return drawn
