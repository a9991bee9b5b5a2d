"""The furthest set of devices that claims reach together on one node, and what ran out then.

Each request alone would fit here. The largest part of what is asked for that does fit is
searched for; its devices are taken with the search's own bookkeeping, and the next device
that would be free alone says what is short: counters, capacity, or a constraint.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.judge import Judge
from dra_console.allocator.explanation.prefixes import Unit, units_of, up_to
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.asks import Ask, PreparedClaim, prepare
from dra_console.allocator.search.drawing import Refusal
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.search.state import SearchState, state_for
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import PoolStatus, PublishedDevice

IsFree: TypeAlias = Callable[[Ask, PublishedDevice], bool]
"""Whether an ask and a device would go together alone."""


@dataclass(frozen=True, slots=True)
class Furthest:
    """Devices that could be taken together, and what stood against one more.

    `refusal` is `None` if no device was left to try, and `evidence` is empty then.
    """

    devices: int
    refusal: Refusal | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Explorer:
    """Looks how far claims get that the search has found not to fit, and that are not broken."""

    index: Index
    claims: Sequence[ResourceClaim]
    judge: Judge
    is_free: IsFree
    effort: Effort

    def furthest_on(self, node: Node) -> Furthest:
        """Find the furthest set of one node."""
        units = units_of(self.claims)
        results: Sequence[AllocationResult] = ()
        fits, fails = 0, len(units)
        while fails - fits > 1:
            tried = (fits + fails) // 2
            outcome = self.effort.search(
                self.index, up_to(self.claims, units[tried - 1]), node=node
            )
            if isinstance(outcome, Allocated):
                fits, results = tried, outcome.results
            else:
                fails = tried
        prepared = prepare(self.claims, classes=self.index.classes, rules=self.index.rules)
        walk = self._walk(prepared, node)
        for number, result in enumerate(results):
            walk.take(result, claim=number)
        return walk.stop_at(units[fits])

    def _walk(self, prepared: Sequence[PreparedClaim], node: Node) -> "_Walk":
        matcher = Matcher(
            default_engine(), self.index.usage, self.index.added_taints, self.index.rules
        )
        pools = self.index.inventory.pools_on(node)
        devices = [
            published
            for pool in pools
            if pool.status is PoolStatus.READY
            for published in pool.devices
        ]
        standings = Standings(node, matcher, devices)
        state = state_for(prepared, pools=pools, standings=standings)
        return _Walk(prepared, devices, self.is_free, self.judge, standings, state)


@dataclass(frozen=True, slots=True)
class _Walk:
    claims: Sequence[PreparedClaim]
    devices: Sequence[PublishedDevice]
    is_free: IsFree
    judge: Judge
    standings: Standings
    state: SearchState

    def take(self, result: AllocationResult, *, claim: int) -> None:
        """Take what a search has found for a claim."""
        asks = {ask.label: ask for each in self.claims[claim].requests for ask in each.asks}
        places = {published.id: place for place, published in enumerate(self.devices)}
        for device in result.results:
            ask, place = asks[device.request], places[device.device_id]
            standing = self.standings.of(ask, place)
            if standing is not None:
                self.state.take(ask, self.devices[place], standing, claim=claim)

    def stop_at(self, unit: Unit) -> Furthest:
        """Try to take more for the next request, and say what stands against that."""
        reached = len(self.state.taken)
        for ask in self.claims[unit.claim].requests[unit.request].asks:
            for place, published in enumerate(self.devices):
                standing = self.standings.of(ask, place) if self.is_free(ask, published) else None
                if standing is None or self.state.is_in_use(ask, published, claim=unit.claim):
                    continue
                refusal = self.state.take(ask, published, standing, claim=unit.claim)
                if refusal is not None:
                    return Furthest(reached, refusal, self._evidence(refusal, ask, published))
            while len(self.state.taken) > reached:
                self.state.give_back()
        return Furthest(reached)

    def _evidence(self, refusal: Refusal, ask: Ask, published: PublishedDevice) -> str:
        match refusal:
            case Refusal.COUNTERS:
                shortage = self.state.drawing.ledger(published.id.pool_id).shortage(published.draws)
                return str(shortage) if shortage else ""
            case Refusal.CAPACITY:
                return self._shortfall(ask, published)
            case Refusal.CONSTRAINT:
                constraints = " or ".join(each.describe() for each in self.state.covering[ask])
                return f"{constraints} refuses the next device"
            case _:
                return f"the next device is refused: {refusal.value}"

    def _shortfall(self, ask: Ask, published: PublishedDevice) -> str:
        usage = self.state.usage
        shares = [each.pick for each in self.state.taken if each.pick.published is published]
        booked = dict(usage.booked.get(published.id, {}))
        for pick in shares:
            for name, amount in pick.amounts.items():
                booked[name] = booked[name] + amount if name in booked else amount
        number = len(shares) + len(usage.sharers.get(published.id, ()))
        return self.judge.shortfall(ask.wish, published, booked=booked, shares=number)
