"""Searches that an explanation makes beside the answer itself, within a bounded effort."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, Outcome
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.search.search import search_node
from dra_console.allocator.world.index import Index

STEPS_A_NODE: Final = 5_000
"""Devices considered on one node before a change counts as not known to help."""


NODES_AT_ONCE: Final = 16
"""Nodes searched before it is asked again whether steps are left."""


@dataclass(slots=True)
class Effort:
    """Steps that are left for all trials of one kind together."""

    steps_left: int

    @property
    def is_spent(self) -> bool:
        return self.steps_left <= 0

    def fitting(
        self, index: Index, claims: Sequence[ResourceClaim], *, nodes: Sequence[Node]
    ) -> Node | None:
        """Search nodes in order; return the first that fits, if that is found in time.

        As in every search over nodes, broken input ends it.
        """
        for start in range(0, len(nodes), NODES_AT_ONCE):
            if self.is_spent:
                return None
            found = first_fit(
                index,
                claims,
                nodes=nodes[start : start + NODES_AT_ONCE],
                step_budget=min(STEPS_A_NODE, self.steps_left),
            )
            self.steps_left -= max(found.outcome.steps, 1)
            if isinstance(found.outcome, Allocated | BrokenInput):
                return found.node
        return None

    def search(
        self, index: Index, claims: Sequence[ResourceClaim], *, node: Node
    ) -> Outcome | None:
        """Search one node in an index that is asked this one time; nothing is kept of it."""
        if self.is_spent:
            return None
        budget = min(STEPS_A_NODE, self.steps_left)
        outcome = search_node(index, claims, node=node, step_budget=budget)
        self.steps_left -= max(outcome.steps, 1)
        return outcome
