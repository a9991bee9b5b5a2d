"""First fit as it reads: one node after the other, each searched from scratch."""

from collections.abc import Sequence
from dataclasses import replace

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import AllocationResult, Node, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, DoesNotFit
from dra_console.allocator.search.first_fit import FirstFit
from dra_console.allocator.search.search import search_node
from dra_console.allocator.world.index import Index


def plain_first_fit(
    index: Index, claims: Sequence[ResourceClaim], *, nodes: Sequence[Node], step_budget: int
) -> FirstFit:
    gave_up: Node | None = None
    invalid_pools: dict[tuple[PoolId, str], None] = {}
    for tried, node in enumerate(nodes, start=1):
        outcome = search_node(index, claims, node=node, step_budget=step_budget)
        match outcome:
            case Allocated():
                return FirstFit(node, outcome, tried)
            case BrokenInput():
                return FirstFit(None, outcome, tried)
            case BudgetExhausted():
                gave_up = gave_up or node
            case DoesNotFit():
                invalid_pools |= dict.fromkeys(outcome.invalid_pools)
    if gave_up is not None:
        return FirstFit(None, BudgetExhausted(0), len(nodes), gave_up)
    return FirstFit(None, DoesNotFit(0, tuple(invalid_pools)), len(nodes))


def comparable(found: FirstFit) -> FirstFit:
    """Leave the effort out, and what is random about share ids."""
    outcome = found.outcome
    if isinstance(outcome, Allocated):
        return replace(
            found, outcome=Allocated(tuple(map(_without_share_ids, outcome.results)), steps=0)
        )
    return replace(found, outcome=replace(outcome, steps=0))


def _without_share_ids(result: AllocationResult) -> AllocationResult:
    return replace(
        result,
        results=tuple(
            replace(each, share_id=None if each.share_id is None else "some")
            for each in result.results
        ),
    )
