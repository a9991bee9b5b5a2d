"""Nodes that share devices, filled as a scheduler would: pod by pod, first fit over all of them.

A device that several nodes reach, or a counter that devices of several nodes draw on, makes
what one node takes a matter of what the others took. A shared pool counts only where the pods
could take a device of it: a fabric switch in reach of all nodes is no GPU.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BrokenInputError, BudgetExhausted
from dra_console.allocator.search.asks import PreparedClaim
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.placed import Placed
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.world.bookings import Bookings
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import NodePool, PublishedDevice

PODS_TOGETHER: Final = 5_000
"""Placed at most; some claims never run out."""

STEPS_A_NODE: Final = 5_000
LEAST_STEPS: Final = 10
"""What a pod counts for at least."""


@dataclass(slots=True)
class Together:
    """What came of filling nodes together."""

    placed: list[Placed] = field(default_factory=list)
    broken: BrokenInput | None = None
    is_lower_bound: bool = False
    steps: int = 0


def fill_together(
    index: Index,
    shapes: Sequence[Sequence[PreparedClaim]],
    nodes: Sequence[Node],
    *,
    steps: int,
    most: int = PODS_TOGETHER,
) -> Together:
    """Place pods of each shape on these nodes until none fits, or there are enough of them."""
    done = Together()
    if not nodes:
        return done
    bookings = Bookings(holding_claims(index), rules=index.rules)
    roster = Roster(
        replace(index, usage=bookings.usage, nodes=tuple(nodes)), is_used=bookings.is_used
    )
    for shape, prepared in enumerate(shapes):
        claims = [each.claim for each in prepared]
        while True:
            if done.steps >= steps or len(done.placed) >= most:
                done.is_lower_bound = True
                return done
            found = roster.first_fit(claims, step_budget=STEPS_A_NODE)
            done.steps += max(found.outcome.steps, LEAST_STEPS)
            if isinstance(found.outcome, BrokenInput):
                done.broken = found.outcome
                return done
            if not isinstance(found.outcome, Allocated) or found.node is None:
                done.is_lower_bound |= isinstance(found.outcome, BudgetExhausted)
                break
            done.placed.append(Placed(shape, found.node, found.outcome.results))
            for claim, result in zip(claims, found.outcome.results, strict=True):
                for device_id in bookings.hold(replace(claim, allocation=result)):
                    for pool in index.inventory.seen_with(device_id):
                        roster.nodes.changed_hands(pool, device_id)
    return done


def holding_claims(index: Index) -> Iterator[ResourceClaim]:
    """Walk the claims that hold devices, each once."""
    claims = {id(claim): claim for claim in index.usage.holders.values()}
    claims |= {id(each): each for sharers in index.usage.sharers.values() for each in sharers}
    return iter(claims.values())


def entangled(index: Index, shapes: Sequence[Sequence[PreparedClaim]]) -> Callable[[Record], bool]:
    """Tell of nodes whether they share with others what the pods could take."""
    matcher = Matcher(default_engine(), index.usage, index.added_taints, index.rules)
    tests = [
        ask.tests
        for shape in shapes
        for claim in shape
        for request in claim.requests
        for ask in request.asks
    ]
    known: dict[NodePool, bool] = {}

    def could_take(published: PublishedDevice, node: Node) -> bool:
        try:
            return any(matcher.matches(each, published, node=node) for each in tests)
        except BrokenInputError:
            return True

    def is_entangled(record: Record) -> bool:
        for pool in record.ready:
            if pool not in known:
                known[pool] = _is_shared(pool, record.node) and any(
                    could_take(published, record.node) for published in pool.devices
                )
            if known[pool]:
                return True
        return False

    return is_entangled


def _is_shared(pool: NodePool, node: Node) -> bool:
    """Tell whether other nodes see devices of the pool, or draw on its counters."""
    slices = pool.generation.slices if pool.counters else pool.slices
    return any(each.slice.reach.node_name != node.name for each in slices)
