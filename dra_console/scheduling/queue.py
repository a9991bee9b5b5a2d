"""Which pods wait for the console to place them, and with which claims."""

from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.mirror.models import ClaimState, Cluster, Pod, ResourceClaim

SCHEDULER_NAME = "dra-console"
"""`spec.schedulerName` of pods that the console places."""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod without a node whose claims all exist.

    `missing` names what has to appear before it can be placed; then `claims` is not whole.
    """

    pod: Pod
    claims: tuple[ResourceClaim, ...]
    missing: str


def waiting_pods(cluster: Cluster) -> list[WaitingPod]:
    """List the pods to place: highest priority first, then oldest."""
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
    ordered = sorted(pods, key=lambda pod: (-_priority(pod), pod.created_at, pod.name))
    return [_with_claims(pod, claims) for pod in ordered]


def pending_claims(cluster: Cluster) -> list[ResourceClaim]:
    """List the claims without allocation, oldest first."""
    return list(
        ResourceClaim.objects.filter(cluster=cluster, state=ClaimState.PENDING).order_by(
            "created_at", "pk"
        )
    )


def _with_claims(pod: Pod, claims: Mapping[tuple[str, str], ResourceClaim]) -> WaitingPod:
    found: list[ResourceClaim] = []
    for wanted in pod.raw["spec"].get("resourceClaims", ()):
        name = pod.claim_names.get(wanted["name"]) or wanted.get("resourceClaimName")
        claim = claims.get((pod.namespace, name)) if name else None
        if claim is None:
            missing = f"claim {name}" if name else f"the claim for {wanted['name']}"
            return WaitingPod(pod, tuple(found), f"{missing} does not exist yet")
        if claim.deletion_requested_at is not None:
            return WaitingPod(pod, tuple(found), f"claim {claim.name} is being deleted")
        found.append(claim)
    return WaitingPod(pod, tuple(found), "")


def _priority(pod: Pod) -> int:
    priority = pod.raw["spec"].get("priority")
    return priority if isinstance(priority, int) else 0
