"""The first node, in order, on which all claims of a pod fit.

What a scheduler does for one pod, without scores: nodes are tried in the given order and
the first that has a solution wins. Broken input ends the walk, since it concerns the pod
and not the node; a node without a solution, or whose search ran out of steps, does not.

What is found out about an index is kept as long as the index (`Roster`). A cluster that
changes is better kept as a `Fleet`, which loses nothing of it with each change.

Many an index is asked once, and the claims fit on its first node; so that one is searched
before anything is made for the nodes behind it and for questions to come.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from dra_console.allocator.model import Node, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput
from dra_console.allocator.search.fits import FirstFit, found_on
from dra_console.allocator.search.roster import Glance, Roster
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET, search_node
from dra_console.allocator.world.index import Index

__all__ = ["FirstFit", "first_fit"]


def first_fit(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    nodes: Sequence[Node] | None = None,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> FirstFit:
    """Try nodes in order, those of the snapshot by default, until one fits.

    The claims are taken as unallocated, in the pod's order. `step_budget` holds for each
    node alone; `steps` of the outcome is what was searched now, on all nodes together.
    """
    asked = index.nodes if nodes is None else nodes
    with _lock:
        glance: Glance | None = None
        if asked and index not in _rosters:
            _rosters[index] = None
            node = asked[0]
            glance = Glance(
                claims, node, search_node(index, claims, node=node, step_budget=step_budget)
            )
            if isinstance(glance.outcome, Allocated | BrokenInput):
                return found_on(node, glance.outcome, tried=1, steps=glance.outcome.steps)
        roster = _rosters.get(index)
        if roster is None:
            roster = _rosters[index] = Roster(replace(index), glance=glance)
        if nodes is None:
            return roster.first_fit(claims, step_budget=step_budget)
        return roster.first_fit_among(nodes, claims, step_budget=step_budget)


_lock: Final = Lock()
_rosters: Final[WeakKeyDictionary[Index, Roster | None]] = WeakKeyDictionary()
"""`None` for an index whose first node has answered. A roster has a copy of its index, which
therefore ends when its owner drops it."""
