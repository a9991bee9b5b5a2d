"""What the claims of a pod say before any device is looked for. Pure."""

from collections.abc import Collection, Sequence
from typing import Final

from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.scheduler.availability import Unavailable, unavailable
from dra_console.scheduling.planning.columns import Columns
from dra_console.scheduling.planning.grouped import positions_in

CONSUMERS: Final = 256
"""Most entries of `status.reservedFor`."""


def claims_in_the_way(
    claims: Sequence[ResourceClaim], *, pod_uid: str, in_flight: Collection[str]
) -> str:
    """Say which claim keeps the pod from every node now; empty if none does."""
    for claim in claims:
        if claim.is_deleting:
            return f"claim {claim.key} is being deleted"
        if claim.allocation is None:
            if claim.uid in in_flight:
                return f"claim {claim.key} is being allocated for another pod"
        elif (
            pod_uid
            and len(claim.reserved_for) >= CONSUMERS
            and all(each.uid != pod_uid for each in claim.reserved_for)
        ):
            consumers = len(claim.reserved_for)
            return f"claim {claim.key} has {consumers} of {CONSUMERS} consumers"
    return ""


def unavailable_on(
    columns: Columns, claim: ResourceClaim, nodes: int, *, is_overdue: bool
) -> dict[str, int]:
    """Group those of the nodes on which an allocated claim is of no use, by the reason.

    Raises:
        NodeSelectorError: the allocation's node selector is malformed.

    """
    found: dict[str, int] = {}
    for position in positions_in(nodes):
        node = columns.roster.nodes.nodes[position]
        why = unavailable(claim, node=node, is_overdue=is_overdue)
        if why is not None:
            reason = _words(claim, why)
            found[reason] = found.get(reason, 0) | 1 << position
    return found


def _words(claim: ResourceClaim, why: Unavailable) -> str:
    if why is Unavailable.OTHER_NODES:
        return f"is none of those from which the devices of claim {claim.name} can be used"
    return f"is no good for claim {claim.name}: {why.value}"
