"""What a search has picked so far, and whether one more pick is possible.

Every check of section "in use, counters, taints, constraints, capacity" lives here, in the
order in which upstream makes them. `take` and `give_back` come in strict last-in-first-out
order and restore everything exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dra_console.allocator.inventory import DeviceId, PoolId
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.search.constraints import ConstraintStates, states_of
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.results import Pick
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.pools import NodePool, PublishedDevice
from dra_console.allocator.world.taints import untolerated
from dra_console.allocator.world.usage import Usage

NOTHING_ASKED: Final[Mapping[str, Quantity]] = MappingProxyType({})


class Refusal(StrEnum):
    """Why a device that matches cannot be picked now."""

    IN_USE = "in use"
    COUNTERS = "counters"
    TAINT = "taint"
    CONSTRAINT = "constraint"
    CAPACITY = "capacity"


@dataclass(slots=True)
class SearchState:
    """Picks of one call, for one node."""

    usage: Usage
    matcher: Matcher
    ledgers: Mapping[PoolId, CounterLedger]
    constraints: Sequence[ConstraintStates]
    """One for each claim."""

    new_share_id: Callable[[], str]
    picks: list[tuple[int, Pick]] = field(default_factory=list)
    """Claim and what was picked for it."""

    _claims_of: dict[DeviceId, list[int]] = field(default_factory=dict)
    """Claims that picked the device in this call, in order."""

    _booked_now: dict[DeviceId, dict[str, Quantity]] = field(default_factory=dict)

    def is_picked(self, device_id: DeviceId) -> bool:
        """Tell whether any claim of this call has picked the device."""
        return bool(self._claims_of.get(device_id))

    def is_in_use(self, ask: Ask, published: PublishedDevice, *, claim: int) -> bool:
        """Tell whether the device is out of reach before anything else is looked at.

        Admin access ignores what other claims hold, but a claim never gets a device twice.
        A normal request is blocked by every pick of this call, admin ones included.
        """
        device = published.device
        if ask.wish.admin_access:
            return not device.allow_multiple_allocations and claim in self._claims_of.get(
                published.id, ()
            )
        if published.id in self.usage.holders:
            return True
        return not device.allow_multiple_allocations and self.is_picked(published.id)

    def take(self, ask: Ask, published: PublishedDevice, *, claim: int) -> Refusal | None:
        """Pick a matching device, or change nothing and say what stands against it."""
        if self.is_in_use(ask, published, claim=claim):
            return Refusal.IN_USE
        amounts = self._amounts(ask, published)
        if amounts is None:
            return Refusal.CAPACITY
        draws = published.draws if self._is_first_share(published) else ()
        ledger = self.ledgers.get(published.id.pool_id)
        if draws and (ledger is None or not ledger.take(draws)):
            return Refusal.COUNTERS
        refusal = None
        if untolerated(published.taints, tolerations=ask.wish.tolerations):
            refusal = Refusal.TAINT
        elif self.constraints[claim].add(published.facts, request=ask.label) is not None:
            refusal = Refusal.CONSTRAINT
        if refusal is not None:
            if draws and ledger is not None:
                ledger.give_back(draws)
            return refusal
        is_shared = published.device.allow_multiple_allocations
        self.picks.append(
            (
                claim,
                Pick(
                    ask,
                    published,
                    amounts=amounts if is_shared else None,
                    share_id=self.new_share_id() if is_shared else None,
                ),
            )
        )
        self._claims_of.setdefault(published.id, []).append(claim)
        if is_shared:
            self._book(published.id, amounts, sign=1)
        return None

    def give_back(self) -> PublishedDevice:
        """Undo the latest pick and return its device."""
        claim, pick = self.picks.pop()
        published = pick.published
        self._claims_of[published.id].pop()
        if pick.amounts is not None:
            self._book(published.id, pick.amounts, sign=-1)
        self.constraints[claim].remove(request=pick.ask.label)
        if published.draws and self._is_first_share(published):
            self.ledgers[published.id.pool_id].give_back(published.draws)
        return published

    def _is_first_share(self, published: PublishedDevice) -> bool:
        """Tell whether nobody has charged the device's counters yet.

        Counters of a shared device are charged once, with its first share. Otherwise every
        pick is charged, even of a device that admin access takes from under a holder.
        """
        if not published.device.allow_multiple_allocations:
            return True
        return published.id not in self.usage.booked and not self.is_picked(published.id)

    def _amounts(self, ask: Ask, published: PublishedDevice) -> Mapping[str, Quantity] | None:
        is_shared = published.device.allow_multiple_allocations or published.id in self.usage.booked
        if not is_shared and ask.wish.capacity is None:
            return NOTHING_ASKED
        return self.matcher.amounts(
            published, wish=ask.wish, booked_now=self._booked_now.get(published.id, {})
        )

    def _book(self, device_id: DeviceId, amounts: Mapping[str, Quantity], *, sign: int) -> None:
        booked = self._booked_now.setdefault(device_id, {})
        for name, amount in amounts.items():
            known = booked.get(name, Quantity(0, amount.family))
            booked[name] = known + amount if sign > 0 else known - amount


def state_for(
    claims: Sequence[PreparedClaim],
    *,
    pools: Sequence[NodePool],
    matcher: Matcher,
    new_share_id: Callable[[], str],
) -> SearchState:
    """Start with nothing picked and every pool's counters at what is left now."""
    return SearchState(
        usage=matcher.usage,
        matcher=matcher,
        ledgers={pool.id: ledger_of(pool, usage=matcher.usage) for pool in pools if pool.counters},
        constraints=[states_of(prepared.claim.spec.constraints) for prepared in claims],
        new_share_id=new_share_id,
    )


def ledger_of(pool: NodePool, *, usage: Usage) -> CounterLedger:
    """Charge a pool's counters with the devices that are in use, on all nodes."""
    return CounterLedger.of(
        pool.counters,
        taken=(
            draw
            for published in pool.all_devices
            if published.draws and usage.is_drawn(published.id)
            for draw in published.draws
        ),
    )
