"""How far claims get together on one node when devices are taken as they come.

Each request alone would fit here. So devices are picked in first-fit order with the
search's own bookkeeping, and the first request that finds none says what ran out: counters,
capacity, or devices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.explanation.judge import Judge
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.search.asks import Ask, PreparedRequest, prepare
from dra_console.allocator.search.drawing import Refusal
from dra_console.allocator.search.every import Enumeration
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.search.state import SearchState, state_for
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import PoolStatus, PublishedDevice

IsFree: TypeAlias = Callable[[Ask, PublishedDevice], bool]


@dataclass(frozen=True, slots=True)
class Furthest:
    """Devices that could be taken together, and what stood against one more.

    `refusal` is `None` if no device was left to try, and `evidence` is empty then.
    """

    devices: int
    refusal: Refusal | None = None
    evidence: str = ""


def furthest_of(
    index: Index, claims: Sequence[ResourceClaim], *, node: Node, judge: Judge, is_free: IsFree
) -> Furthest:
    """Take devices for claims that the search has found not to fit, and that are not broken.

    `is_free` tells of an ask and a device whether they would go together alone.
    """
    matcher = Matcher(default_engine(), index.usage, index.rules)
    pools = index.inventory.pools_on(node)
    prepared = prepare(claims, classes=index.classes, rules=index.rules)
    devices = [
        published for pool in pools if pool.status is PoolStatus.READY for published in pool.devices
    ]
    standings = Standings(node, matcher, devices)
    walk = _Walk(
        devices=devices,
        every=Enumeration(node, pools, matcher).every(prepared),
        is_free=is_free,
        judge=judge,
        standings=standings,
        state=state_for(prepared, pools=pools, standings=standings),
    )
    for number, claim in enumerate(prepared):
        for request in claim.requests:
            stopped = walk.serve(request, claim=number)
            if stopped is not None:
                return stopped
    return Furthest(len(walk.state.taken))


@dataclass(frozen=True, slots=True)
class _Walk:
    devices: Sequence[PublishedDevice]
    every: Mapping[Ask, Sequence[PublishedDevice]]
    is_free: IsFree
    judge: Judge
    standings: Standings
    state: SearchState

    def serve(self, request: PreparedRequest, *, claim: int) -> Furthest | None:
        """Pick devices for a request; say where that ended if no alternative was served."""
        stops = []
        for ask in request.asks:
            stop = self._serve(ask, claim=claim)
            if stop is None:
                return None
            stops.append(stop)
        return max(stops, key=lambda stop: stop.devices)

    def _serve(self, ask: Ask, *, claim: int) -> Furthest | None:
        before = len(self.state.taken)
        missing = len(self.every[ask]) if ask.takes_all else ask.wish.count
        refused: Furthest | None = None
        for place, published in enumerate(self.devices):
            if not missing:
                break
            if not self.is_free(ask, published):
                continue
            if self.state.is_in_use(ask, published, claim=claim):
                continue
            standing = self.standings.of(ask, place)
            if standing is None:
                continue
            refusal = self.state.take(ask, published, standing, claim=claim)
            if refusal is None:
                missing -= 1
            elif refused is None:
                refused = self._stop(refusal, ask, published)
        if not missing:
            return None
        stop = replace(refused or Furthest(0), devices=len(self.state.taken))
        while len(self.state.taken) > before:
            self.state.give_back()
        return stop

    def _stop(self, refusal: Refusal, ask: Ask, published: PublishedDevice) -> Furthest:
        match refusal:
            case Refusal.COUNTERS:
                shortage = self.state.drawing.ledger(published.id.pool_id).shortage(published.draws)
                evidence = str(shortage) if shortage else ""
            case Refusal.CAPACITY:
                evidence = self._shortfall(ask, published)
            case Refusal.CONSTRAINT:
                constraints = " or ".join(each.describe() for each in self.state.covering[ask])
                evidence = f"{constraints} refuses the next device"
            case _:
                evidence = f"the next device is refused: {refusal.value}"
        return Furthest(0, refusal, evidence)

    def _shortfall(self, ask: Ask, published: PublishedDevice) -> str:
        usage = self.state.usage
        shares = [each.pick for each in self.state.taken if each.pick.published is published]
        booked = dict(usage.booked.get(published.id, {}))
        for pick in shares:
            for name, amount in pick.amounts.items():
                booked[name] = booked[name] + amount if name in booked else amount
        number = len(shares) + len(usage.sharers.get(published.id, ()))
        return self.judge.shortfall(ask.wish, published, booked=booked, shares=number)
