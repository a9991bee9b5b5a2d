"""Which of the nodes that are good for a pod are tried first. Pure; no node is left out here.

Placement decides first, then how much the pod likes the node (preferred node affinity, taints
to avoid), then the order of the nodes, which is by name.
"""

from dra_console.scheduling.planning.columns import Columns
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
