"""Choose a node for a pod, or for a claim that is reserved ahead, and devices on it.

Nothing is written and nothing is changed: equal boards give equal plans. Filters come first,
then what allocated claims allow, then the allocator tries the nodes that are left, the best
ones first, until all claims fit on one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.search.selecting import first_fit_in
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.claims import claims_in_the_way, unavailable_on
from dra_console.scheduling.planning.columns import Columns
from dra_console.scheduling.planning.extended import needs_claim
from dra_console.scheduling.planning.managed import as_written, has_managed, tolerating_managed
from dra_console.scheduling.planning.plans import (
    NodesLeftOut,
    NotPlaced,
    Placed,
    Plan,
    Refused,
    Undecided,
)
from dra_console.scheduling.planning.reasons import headline, reason_of_lack
from dra_console.scheduling.planning.scores import best_of, tiers_of
from dra_console.scheduling.planning.wishes import PodWish

NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(slots=True)
class _Sorted:
    """Nodes by whether they are left out before any device is looked at, as bits."""

    left: int
    left_out: dict[str, int]
    unavailable: dict[str, ResourceClaim]


def plan_pod(  # noqa: PLR0913 - what a plan is made from
    board: NodeBoard,
    wish: PodWish,
    claims: Sequence[ResourceClaim],
    *,
    in_flight: Collection[str] = NOBODY,
    overdue: Collection[str] = NOBODY,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> Plan:
    """Plan a pod with its claims, in the pod's order, as the fleet of the board has them.

    `in_flight` are UIDs of claims that another pod's plan is being written for, `overdue` those
    whose devices were not bound in time (KEP-5007). `step_budget` bounds the search on one node.
    """
    if reason := claims_in_the_way(claims, pod_uid=wish.uid, in_flight=in_flight):
        return NotPlaced(reason)
    if refused := needs_claim(
        wish.requests,
        classes=board.fleet.roster.index.classes.values(),
        nodes=board.all_facts(),
    ):
        return refused
    try:
        nodes = _sort(board, wish, claims, overdue=overdue)
        return _choose(board, wish, claims, nodes, step_budget=step_budget)
    except NodeSelectorError as error:
        return Refused(f"a node selector of an allocation is malformed: {error}")


def _sort(
    board: NodeBoard, wish: PodWish, claims: Sequence[ResourceClaim], *, overdue: Collection[str]
) -> _Sorted:
    columns = board.columns
    present = columns.present
    reasons = columns.by_reason(wish.nodes)
    left_out = {why: nodes & present for why, nodes in reasons.items() if why and nodes & present}
    left = reasons.get("", 0) & present
    if left:
        lacking = columns.by_lacking(wish.requests)
        for lack, nodes in lacking.items():
            if lack is not None and nodes & left:
                left_out[reason_of_lack(board, wish, lack, nodes & left)] = nodes & left
        left &= lacking.get(None, 0)
    unavailable: dict[str, ResourceClaim] = {}
    for claim in claims:
        if claim.allocation is None or not left:
            continue
        for reason, nodes in unavailable_on(
            columns, claim, left, is_overdue=claim.uid in overdue
        ).items():
            unavailable[claim.uid] = claim
            left_out[reason] = left_out.get(reason, 0) | nodes
            left &= ~nodes
    return _Sorted(left, left_out, unavailable)


def _choose(
    board: NodeBoard,
    wish: PodWish,
    claims: Sequence[ResourceClaim],
    nodes: _Sorted,
    *,
    step_budget: int,
) -> Plan:
    columns = board.columns
    wanted = [claim for claim in claims if claim.allocation is None]
    if wanted:
        return _search(columns, wish, wanted, nodes, step_budget=step_budget)
    best = next(iter(tiers_of(columns, wish, nodes.left)), 0)
    if not best:
        return _not_placed(columns, nodes)
    first = columns.roster.nodes.first_of(best)
    return Placed(columns.name_at(first.bit_length() - 1), {})


def _search(
    columns: Columns,
    wish: PodWish,
    wanted: Sequence[ResourceClaim],
    nodes: _Sorted,
    *,
    step_budget: int,
) -> Plan:
    only = has_managed(columns.roster.index.added_taints.rules)
    seen = [tolerating_managed(claim, only=only) for claim in wanted]
    best = best_of(columns, wish, seen, nodes.left, step_budget=step_budget)
    if isinstance(best, BrokenInput):
        return Refused(str(best), best.field)
    tiers = tiers_of(columns, wish, best)
    found = first_fit_in(columns.roster, tiers, seen, step_budget=step_budget)
    match found.outcome:
        case Allocated(results) if found.node is not None:
            pairs = zip(wanted, results, strict=True)
            return Placed(
                found.node.name, {claim.uid: as_written(result) for claim, result in pairs}
            )
        case BrokenInput() as broken:
            return Refused(str(broken), broken.field)
        case BudgetExhausted():
            where = found.gave_up.name if found.gave_up else "no node"
            return Undecided(f"the search on {where} ended by its step budget")
    return _not_placed(columns, nodes)


def _not_placed(columns: Columns, nodes: _Sorted) -> NotPlaced:
    counts = {reason: bits.bit_count() for reason, bits in nodes.left_out.items()}
    return NotPlaced(
        headline(counts, lack_devices=nodes.left.bit_count(), nodes=columns.present.bit_count()),
        tuple(nodes.unavailable.values()),
        NodesLeftOut(nodes.left_out, columns.names),
    )
