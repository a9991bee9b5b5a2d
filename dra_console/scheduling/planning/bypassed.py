"""Pods that were given their node by hand, past every scheduler (`spec.nodeName`). Pure.

Nobody allocates their claims: kube-controller-manager reserves a claim for such a pod if it has
its devices already, and the kubelet starts no pod whose claims are not reserved for it.
"""

from collections.abc import Sequence

from dra_console.allocator.model import Node, ResourceClaim
from dra_console.allocator.scheduler.availability import unavailable
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL


def why_bypassed(node: Node, claims: Sequence[ResourceClaim]) -> str:
    """Say why a pod that was put on a node does not start there; empty if its claims allow it.

    Raises:
        NodeSelectorError: the node selector of an allocation is malformed.

    """
    past = f"spec.nodeName has put the pod on node {node.name} past every scheduler"
    for claim in claims:
        if claim.allocation is None:
            return (
                f"{past}, so nobody allocates claim {claim.name}: leave the field out, or give "
                f"the claim the label {RESERVE_AHEAD_LABEL}"
            )
        if unavailable(claim, node=node, is_overdue=False):
            return (
                f"{past}, where the devices of claim {claim.name} cannot be used: leave the "
                "field out"
            )
    return ""
