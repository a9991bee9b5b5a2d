"""The first node, in order, on which all claims of a pod fit.

What a scheduler does for one pod, without scores: nodes are tried in the given order and
the first that has a solution wins. Broken input ends the walk, since it concerns the pod
and not the node; a node without a solution, or whose search ran out of steps, does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import Node, ResourceClaim
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET, search_node
from dra_console.allocator.world.index import Index


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Where claims fit, and how many nodes it took to find out; `node` is set if they fit.

    Without a fit, an exhausted budget on some node outweighs the nodes that are known not
    to fit: nothing can be said then. `DoesNotFit` names the invalid pools of all nodes.
    """

    node: Node | None
    outcome: Outcome
    tried: int


def first_fit(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    nodes: Sequence[Node] | None = None,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> FirstFit:
    """Try nodes in order, those of the snapshot by default, until one fits.

    The claims are taken as unallocated, in the pod's order. `step_budget` holds for each
    node alone; `steps` of an outcome is the effort on all nodes that were tried.
    """
    nodes = index.nodes if nodes is None else nodes
    steps = 0
    is_exhausted = False
    invalid_pools: dict[tuple[PoolId, str], None] = {}
    for tried, node in enumerate(nodes, start=1):
        outcome = search_node(index, claims, node=node, step_budget=step_budget)
        steps += outcome.steps
        match outcome:
            case Allocated():
                return FirstFit(node, Allocated(outcome.results, steps), tried)
            case BrokenInput():
                return FirstFit(None, outcome, tried)
            case BudgetExhausted():
                is_exhausted = True
            case DoesNotFit():
                invalid_pools |= dict.fromkeys(outcome.invalid_pools)
    if is_exhausted:
        return FirstFit(None, BudgetExhausted(steps), len(nodes))
    return FirstFit(None, DoesNotFit(steps, tuple(invalid_pools)), len(nodes))
