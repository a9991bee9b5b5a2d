"""Nodes on which looking at the claims is an error, though they fit on another node.

kube-scheduler asks its filters of many nodes at once, and the first that answers with an
error ends the pod's turn. Up to a hundred nodes it asks all of them, so such a pod waits
until the error is mended. In larger clusters it stops when it has found enough nodes that
fit, and whether it meets the error is chance; nothing is said of those.
"""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.judgements import NodeClass
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.world.index import Index

ASKS_ALL_BELOW: Final = 100
"""kube-scheduler looks for at least so many nodes that fit, and so at every node of fewer."""

SPOILER_STEPS: Final = 20_000
"""Effort to find such a node, over all of them."""


def spoiler(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    classes: Sequence[NodeClass],
    fits_on: Node,
    nodes: int,
) -> BrokenInput | None:
    """Find the error that keeps claims which fit on one node from being given devices there.

    `nodes` counts those of the cluster. Nodes of one class answer alike.
    """
    if nodes >= ASKS_ALL_BELOW:
        return None
    effort = Effort(SPOILER_STEPS)
    for each in classes:
        if each.is_considered and all(place.node is not fits_on for place in each.places):
            outcome = effort.search(index, claims, node=each.first.node)
            if isinstance(outcome, BrokenInput):
                return outcome
    return None
