"""Structured allocation on one node: deterministic first fit with backtracking.

Depth first, in the order of claims, requests, alternatives and devices; the first full
solution wins, so every answer is reproducible. A request takes its devices in ascending
order, and the next request starts from the first device again. Nothing is final before
everything after it is solved: a later request or claim can move an earlier one.
"""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import uuid4

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import Node, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BrokenInputError,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.asks import Preparation
from dra_console.allocator.search.backtracking import OutOfStepsError, Search
from dra_console.allocator.search.likeness import Likeness
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.state import state_for
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import NodePool, PoolStatus

__all__ = [
    "DEFAULT_STEP_BUDGET",
    "Allocated",
    "BrokenInput",
    "BudgetExhausted",
    "DoesNotFit",
    "Outcome",
    "allocate",
    "search_node",
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
    matcher = Matcher(default_engine(), index.usage)
    try:
        pools = index.inventory.pools_on(node)
        preparation = Preparation(node, pools, index.classes, matcher)
        prepared = [preparation.prepare(claim) for claim in claims]
    except BrokenInputError as error:
        return error.broken
    except NodeSelectorError as error:
        return BrokenInput(f"node selector of a ResourceSlice: {error}")
    search = Search(
        claims=prepared,
        devices=[
            published
            for pool in pools
            if pool.status is PoolStatus.READY
            for published in pool.devices
        ],
        node=node,
        matcher=matcher,
        state=state_for(prepared, pools=pools, matcher=matcher, new_share_id=new_share_id),
        likeness=Likeness(
            ask for claim in prepared for each in claim.requests for ask in each.asks
        ),
        steps_left=step_budget,
    )
    try:
        is_solved = search.run()
    except BrokenInputError as error:
        return error.after(step_budget - search.steps_left)
    except OutOfStepsError:
        return BudgetExhausted(step_budget)
    steps = step_budget - search.steps_left
    if not is_solved:
        return DoesNotFit(steps, _invalid(pools))
    return Allocated(search.results(), steps)


def _invalid(pools: Sequence[NodePool]) -> tuple[tuple[PoolId, str], ...]:
    return tuple((pool.id, pool.problem) for pool in pools if pool.status is PoolStatus.INVALID)
