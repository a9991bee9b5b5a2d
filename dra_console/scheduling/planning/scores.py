"""Which of the nodes that are good for a pod is taken. Pure; no node is left out here.

- Prioritized lists come first (KEP-4816): a node on which the pod gets what it prefers.
- Then placement: by the devices in use (`pack`, `spread`), or by what is stranded of split
  devices and, where that is the same, as with `pack` (`fewest-fragments`).
- Then how much the pod likes the node: preferred node affinity, and taints to avoid.
- Then the order of the nodes, which is by name.

A score chooses the node. Devices on a node are taken in the order in which they are published.
"""

from collections.abc import Sequence

from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.scheduler.scores import score
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.search.selecting import fits_by
from dra_console.scheduling.planning.columns import Columns
from dra_console.scheduling.planning.fragments import NONE, Fragments, fragments_of
from dra_console.scheduling.planning.placements import Placement
from dra_console.scheduling.planning.wishes import PodWish


def tiers_of(columns: Columns, wish: PodWish, nodes: int) -> list[int]:
    """Divide nodes, given as bits, into tiers of which the first is the best."""
    by_held = columns.by_held_devices()
    ordered = sorted(by_held, reverse=wish.placement is not Placement.SPREAD)
    tiers = [tier for held in ordered if (tier := by_held[held] & nodes)]
    liked = columns.by_preference(wish.nodes)
    if len(liked) == 1:
        return tiers
    by_liking = sorted(liked, reverse=True)
    return [part for tier in tiers for like in by_liking if (part := tier & liked[like])]


def best_of(
    columns: Columns,
    wish: PodWish,
    claims: Sequence[ResourceClaim],
    nodes: int,
    *,
    step_budget: int,
) -> int | BrokenInput:
    """Leave those of the nodes that score best by what the claims would get there.

    All of them are left where nothing depends on that, and where the claims fit on none.
    """
    has_lists = any(each.first_available for claim in claims for each in claim.spec.requests)
    is_by_fragments = wish.placement is Placement.FEWEST_FRAGMENTS
    if not claims or not (has_lists or is_by_fragments):
        return nodes
    judge = _preferences_and_fragments if is_by_fragments else _preferences
    judged = fits_by(columns.roster, judge, claims, nodes=nodes, step_budget=step_budget)
    if judged.nodes:
        return judged.nodes[min(judged.nodes)]
    return nodes if judged.broken is None else judged.broken


def _preferences(
    _roster: Roster,
    _record: Record,
    claims: Sequence[ResourceClaim],
    allocations: Sequence[AllocationResult],
) -> tuple[int, Fragments]:
    return -score(zip(claims, allocations, strict=True)), NONE


def _preferences_and_fragments(
    roster: Roster,
    record: Record,
    claims: Sequence[ResourceClaim],
    allocations: Sequence[AllocationResult],
) -> tuple[int, Fragments]:
    preferences, _ = _preferences(roster, record, claims, allocations)
    return preferences, fragments_of(roster, record, allocations)
