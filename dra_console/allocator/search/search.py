"""Structured allocation on one node: deterministic first fit with backtracking.

Depth first, in the order of claims, requests, alternatives and devices; the first full
solution wins, so every answer is reproducible. A request takes its devices in ascending
order, and the next request starts from the first device again. Nothing is final before
everything after it is solved: a later request or claim can move an earlier one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from uuid import uuid4

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import AllocationResult, Node, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BrokenInputError,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.asks import Ask, PreparedClaim, prepare
from dra_console.allocator.search.backtracking import OutOfStepsError, Search
from dra_console.allocator.search.choices import AlternativeChoice
from dra_console.allocator.search.every import Enumeration
from dra_console.allocator.search.looks import Looks
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.pruning import Pruning
from dra_console.allocator.search.results import result_of
from dra_console.allocator.search.shortfall import Shortfall
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.search.state import state_for
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice

__all__ = [
    "DEFAULT_STEP_BUDGET",
    "Allocated",
    "BrokenInput",
    "BudgetExhausted",
    "DoesNotFit",
    "Outcome",
    "allocate",
    "search_node",
    "search_prepared",
]

DEFAULT_STEP_BUDGET: Final = 50_000
"""Devices considered before a search on one node gives up; about half a second."""


def allocate(
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    *,
    node: Node,
    rules: Rules = DEFAULT_RULES,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> Outcome:
    """Find devices for all claims of a pod together on one node, or for none of them.

    The claims are taken as unallocated, in the pod's order.
    """
    return search_node(index_of(snapshot, rules=rules), claims, node=node, step_budget=step_budget)


def search_node(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    node: Node,
    step_budget: int,
    new_share_id: Callable[[], str] = lambda: str(uuid4()),
) -> Outcome:
    """Search one node of an index; `allocate` is this on a snapshot."""
    try:
        prepared = prepare(claims, classes=index.classes, rules=index.rules)
    except BrokenInputError as error:
        return error.broken
    return search_prepared(
        index, prepared, node=node, step_budget=step_budget, new_share_id=new_share_id
    )


def search_prepared(
    index: Index,
    claims: Sequence[PreparedClaim],
    *,
    node: Node,
    step_budget: int,
    new_share_id: Callable[[], str] = lambda: str(uuid4()),
) -> Outcome:
    """Search one node for claims that were prepared once for all nodes of the index."""
    matcher = Matcher(default_engine(), index.usage, index.added_taints, index.rules)
    try:
        pools = index.inventory.pools_on(node)
        every = Enumeration(node, pools, matcher).every(claims)
        search = _search(claims, node=node, pools=pools, matcher=matcher, every=every)
    except BrokenInputError as error:
        return error.broken
    except NodeSelectorError as error:
        return _unreadable(error)
    search.steps_left = step_budget
    search.state.new_share_id = new_share_id
    return _outcome(search, node=node, pools=pools, step_budget=step_budget)


def _outcome(search: Search, *, node: Node, pools: Sequence[NodePool], step_budget: int) -> Outcome:
    try:
        is_solved = search.run()
        steps = step_budget - search.steps_left
        if is_solved:
            return Allocated(_results(search, node), steps)
        return DoesNotFit(steps, _invalid(pools), is_pruned=search.pruning.is_on)
    except BrokenInputError as error:
        return error.after(step_budget - search.steps_left)
    except NodeSelectorError as error:
        return _unreadable(error)
    except OutOfStepsError:
        return BudgetExhausted(step_budget)


def _results(search: Search, node: Node) -> tuple[AllocationResult, ...]:
    """Build one result for each claim from the choices that the search ended with."""
    chosen: list[list[Ask]] = [[] for _ in search.claims]
    for choice in search.stack:
        if isinstance(choice, AlternativeChoice):
            asks = search.claims[choice.claim].requests[choice.request].asks
            chosen[choice.claim].append(asks[choice.next - 1])
    return tuple(
        result_of(prepared, chosen=chosen[index], picks=search.state.picks_of(index), node=node)
        for index, prepared in enumerate(search.claims)
    )


def _unreadable(error: NodeSelectorError) -> BrokenInput:
    return BrokenInput(f"node selector of a ResourceSlice: {error}")


def _search(
    claims: Sequence[PreparedClaim],
    *,
    node: Node,
    pools: Sequence[NodePool],
    matcher: Matcher,
    every: Mapping[Ask, tuple[PublishedDevice, ...]],
) -> Search:
    asks = [ask for claim in claims for request in claim.requests for ask in request.asks]
    sees_held = any(ask.takes_all or ask.wish.admin_access for ask in asks)
    devices = [
        published
        for pool in pools
        if pool.status is PoolStatus.READY
        for published in pool.devices
        if sees_held or published.id not in matcher.usage.holders
    ]
    standings = Standings(node, matcher, devices)
    state = state_for(claims, pools=pools, standings=standings)
    looks = Looks(asks, devices, standings, state.covering, matcher.usage)
    pruning = Pruning(looks, state, Shortfall(claims, looks, state))
    return Search(claims, devices, every, standings, state, pruning)


def _invalid(pools: Sequence[NodePool]) -> tuple[tuple[PoolId, str], ...]:
    return tuple((pool.id, pool.problem) for pool in pools if pool.status is PoolStatus.INVALID)
