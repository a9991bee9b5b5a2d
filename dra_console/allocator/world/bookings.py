"""Usage that is kept up while claims appear, change and disappear.

What one claim holds is taken in and given back without a look at any other claim, except
those that share a device with it; so a change costs the same among ten claims and 40,000.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dra_console.allocator.inventory import DeviceId, PoolId
from dra_console.allocator.model import DeviceResult, ResourceClaim
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.world.usage import Usage

NOTHING: Final = Quantity(0)


class Bookings:
    """Who holds what. `usage` shows it at any time and changes with it.

    Without the gate DRAConsumableCapacity a share holds the whole device.
    """

    __slots__ = (
        "_booked",
        "_has_shares",
        "_holders",
        "_in_use",
        "_sharers",
        "_waiting",
        "usage",
    )

    def __init__(
        self, claims: Iterable[ResourceClaim] = (), *, rules: Rules = DEFAULT_RULES
    ) -> None:
        self._has_shares: Final = rules.has(Feature.CONSUMABLE_CAPACITY)
        self._holders: Final[dict[DeviceId, ResourceClaim]] = {}
        self._waiting: Final[dict[DeviceId, list[ResourceClaim]]] = {}
        """Further holders of devices that were given away more than once."""
        self._sharers: Final[dict[DeviceId, tuple[ResourceClaim, ...]]] = {}
        self._booked: Final[dict[DeviceId, Mapping[str, Quantity]]] = {}
        self._in_use: Final[dict[PoolId, int]] = {}
        self.usage: Final = Usage(self._holders, self._sharers, self._booked)
        for claim in claims:
            self.hold(claim)

    def is_used(self, pool_id: PoolId) -> bool:
        """Tell whether any device of the pool is held or shared."""
        return pool_id in self._in_use

    def hold(self, claim: ResourceClaim) -> frozenset[DeviceId]:
        """Take in what a claim holds; return the devices that this concerns."""
        touched = set()
        for result in _counting(claim):
            device_id = result.device_id
            touched.add(device_id)
            self._count(device_id.pool_id, 1)
            if self._is_share(result):
                self._sharers[device_id] = (*self._sharers.get(device_id, ()), claim)
                self._booked[device_id] = _sum(
                    self._booked.get(device_id, {}), result.consumed_capacity or {}
                )
            elif device_id in self._holders:
                self._waiting.setdefault(device_id, []).append(claim)
            else:
                self._holders[device_id] = claim
        return frozenset(touched)

    def release(self, claim: ResourceClaim) -> frozenset[DeviceId]:
        """Give back what the same object was held with; return the devices that this concerns."""
        touched = set()
        for result in _counting(claim):
            device_id = result.device_id
            touched.add(device_id)
            self._count(device_id.pool_id, -1)
            if self._is_share(result):
                self._leave(result, claim)
            elif self._holders[device_id] is claim:
                self._pass_on(device_id)
            else:
                self._waiting[device_id].remove(claim)
        return frozenset(touched)

    def _is_share(self, result: DeviceResult) -> bool:
        return self._has_shares and result.share_id is not None

    def _count(self, pool_id: PoolId, change: int) -> None:
        in_use = self._in_use.get(pool_id, 0) + change
        if in_use:
            self._in_use[pool_id] = in_use
        else:
            del self._in_use[pool_id]

    def _pass_on(self, device_id: DeviceId) -> None:
        waiting = self._waiting.get(device_id)
        if not waiting:
            del self._holders[device_id]
            return
        self._holders[device_id] = waiting.pop(0)
        if not waiting:
            del self._waiting[device_id]

    def _leave(self, result: DeviceResult, claim: ResourceClaim) -> None:
        """Take one share away; amounts of nothing are dropped, which means the same."""
        device_id = result.device_id
        others = list(self._sharers[device_id])
        others.remove(claim)
        if not others:
            del self._sharers[device_id], self._booked[device_id]
            return
        self._sharers[device_id] = tuple(others)
        amounts = dict(self._booked[device_id])
        for name, amount in (result.consumed_capacity or {}).items():
            left = amounts.pop(name, NOTHING) - amount
            if left:
                amounts[name] = left
        self._booked[device_id] = amounts


def usage_of(claims: Iterable[ResourceClaim], *, rules: Rules = DEFAULT_RULES) -> Usage:
    """Add up what the allocated ones among the claims hold, as `Bookings` does, once for all."""
    has_shares = rules.has(Feature.CONSUMABLE_CAPACITY)
    holders: dict[DeviceId, ResourceClaim] = {}
    sharers: dict[DeviceId, tuple[ResourceClaim, ...]] = {}
    booked: dict[DeviceId, Mapping[str, Quantity]] = {}
    for claim in claims:
        for result in claim.allocation.results if claim.allocation is not None else ():
            if result.admin_access:
                continue
            device_id = result.device_id
            if not has_shares or result.share_id is None:
                holders.setdefault(device_id, claim)
                continue
            sharers[device_id] = (*sharers.get(device_id, ()), claim)
            booked[device_id] = _sum(booked.get(device_id, {}), result.consumed_capacity or {})
    return Usage(holders, sharers, booked)


def _counting(claim: ResourceClaim) -> Iterator[DeviceResult]:
    results = claim.allocation.results if claim.allocation else ()
    return (result for result in results if not result.admin_access)


def _sum(amounts: Mapping[str, Quantity], more: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    total = dict(amounts)
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
    return total
