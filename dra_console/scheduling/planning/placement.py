"""Choose a node for a pod, and devices on it: pure, from one snapshot.

Nodes come in order of preference and the first on which all claims fit is taken. Which
device it is on that node is the allocator's first fit. A node whose search ran out of steps
is passed over; only if no other takes the pod, nothing is decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.model import AllocationResult, Node, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.index import index_of
from dra_console.allocator.world.nodes import NodeSelectorError, selects


@dataclass(frozen=True, slots=True)
class Placed:
    """A node, and one allocation for each claim that had none, in the claims' order."""

    node_name: str
    allocations: tuple[AllocationResult, ...]


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No node takes the pod now.

    `node_reasons` names what stands against a node before any device is looked at; nodes
    that are not in it lack devices. `unavailable` are the allocated claims that bind the
    pod to nodes which it cannot have.
    """

    node_reasons: Mapping[str, str]
    unavailable: tuple[ResourceClaim, ...]


@dataclass(frozen=True, slots=True)
class NotDecided:
    """The search ended without an answer: broken input, or the step budget ran out."""

    reason: str


def place(
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    *,
    nodes: Sequence[Node],
    node_reasons: Mapping[str, str],
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> Placed | NotPlaced | NotDecided:
    """Try `nodes` in order; `node_reasons` are those left out before, with the reason.

    `step_budget` bounds the search on one node.
    """
    reasons = dict(node_reasons)
    unallocated = [claim for claim in claims if claim.allocation is None]
    allocated = [claim for claim in claims if claim.allocation is not None]
    unavailable: set[str] = set()
    usable: list[Node] = []
    for node in nodes:
        try:
            elsewhere = [claim for claim in allocated if not _usable_on(claim, node)]
        except NodeSelectorError as error:
            return NotDecided(str(error))
        if elsewhere:
            unavailable.update(claim.uid for claim in elsewhere)
            reasons[node.name] = f"claim {elsewhere[0].name} is allocated on another node"
        else:
            usable.append(node)
    found = first_fit(index_of(snapshot), unallocated, nodes=usable, step_budget=step_budget)
    match found.outcome:
        case Allocated(results) if found.node is not None:
            return Placed(found.node.name, results)
        case BrokenInput() as broken:
            return NotDecided(str(broken))
        case BudgetExhausted():
            where = found.gave_up.name if found.gave_up else "no node"
            return NotDecided(f"the search on {where} ended by its step budget")
    return NotPlaced(reasons, tuple(claim for claim in allocated if claim.uid in unavailable))


def _usable_on(claim: ResourceClaim, node: Node) -> bool:
    allocation = claim.allocation
    if allocation is None or allocation.node_selector is None:
        return True
    return selects(allocation.node_selector, node=node)
