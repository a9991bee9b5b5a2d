"""Which node serves prioritized lists best: kube-scheduler's score of the dynamic resources.

A score chooses among nodes that fit; it never has a say in the devices on a node.
"""

from collections.abc import Iterable
from typing import Final

from dra_console.allocator.model import AllocationResult, ResourceClaim

ALTERNATIVES_PER_REQUEST: Final = 8


def score(allocated: Iterable[tuple[ResourceClaim, AllocationResult]]) -> int:
    """Sum up, over all claims of a pod, how much each prioritized list got what it prefers.

    The first alternative counts 8, the next one 7, and so on.
    """
    total = 0
    for claim, allocation in allocated:
        served = {result.request for result in allocation.results}
        for request in claim.spec.requests:
            for place, alternative in enumerate(request.first_available):
                if f"{request.name}/{alternative.name}" in served:
                    total += ALTERNATIVES_PER_REQUEST - place
    return total
