"""Which pods wait for the console to place them, and with which claims."""

from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.errors import DecodeError
from dra_console.mirror.models import ClaimState, Cluster, Pod, ResourceClaim
from dra_console.scheduling.names import SCHEDULER_NAME


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod without a node, and its claims.

    `hindrance` names what has to change before it can be tried, such as a claim that does not
    exist yet; then `claims` is not whole.
    """

    pod: Pod
    claims: tuple[ResourceClaim, ...]
    hindrance: str


def waiting_pods(cluster: Cluster) -> list[WaitingPod]:
    """List the pods to place: highest priority first, then oldest.

    Pods with scheduling gates are left out: the API server would not let them be bound.
    """
    pods = Pod.objects.filter(
        cluster=cluster,
        scheduler_name=SCHEDULER_NAME,
        node_name="",
        deletion_requested_at__isnull=True,
    ).exclude(phase__in=("Succeeded", "Failed"))
    claims = {
        (claim.namespace, claim.name): claim
        for claim in ResourceClaim.objects.filter(cluster=cluster)
    }
    free = [pod for pod in pods if not object_of(pod.raw.get("spec")).get("schedulingGates")]
    ordered = sorted(free, key=lambda pod: (-_priority(pod), pod.created_at, pod.name))
    return [_waiting(pod, claims) for pod in ordered]


def pending_claims(cluster: Cluster) -> list[ResourceClaim]:
    """List the claims without allocation, oldest first."""
    return list(
        ResourceClaim.objects.filter(cluster=cluster, state=ClaimState.PENDING).order_by(
            "created_at", "pk"
        )
    )


def _waiting(pod: Pod, claims: Mapping[tuple[str, str], ResourceClaim]) -> WaitingPod:
    try:
        return _with_claims(pod, claims)
    except DecodeError as error:
        return WaitingPod(pod, (), str(error))


def _with_claims(pod: Pod, claims: Mapping[tuple[str, str], ResourceClaim]) -> WaitingPod:
    found: list[ResourceClaim] = []
    for own_name, claim_name in _claim_names(pod):
        claim = claims.get((pod.namespace, claim_name))
        if claim is None:
            missing = f"claim {claim_name}" if claim_name else f"the claim for {own_name}"
            return WaitingPod(pod, tuple(found), f"{missing} does not exist yet")
        if claim.deletion_requested_at is not None:
            return WaitingPod(pod, tuple(found), f"claim {claim.name} is being deleted")
        found.append(claim)
    return WaitingPod(pod, tuple(found), "")


def _claim_names(pod: Pod) -> list[tuple[str, str]]:
    """Pair the pod's own name of each claim with the claim's, which is empty until it is made.

    Raises:
        DecodeError: an entry is none.

    """
    entries = object_of(pod.raw.get("spec")).get("resourceClaims")
    references = objects_of(entries)
    if isinstance(entries, list) and len(references) < len(entries):
        raise DecodeError("spec.resourceClaims", "expected objects")
    names = []
    for index, reference in enumerate(references):
        own_name, direct = reference.get("name"), reference.get("resourceClaimName") or ""
        if not isinstance(own_name, str) or not isinstance(direct, str):
            raise DecodeError(f"spec.resourceClaims[{index}]", f"expected names, got {reference}")
        names.append((own_name, pod.claim_names.get(own_name) or direct))
    return names


def _priority(pod: Pod) -> int:
    priority = object_of(pod.raw.get("spec")).get("priority")
    return priority if isinstance(priority, int) else 0
