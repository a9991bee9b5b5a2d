"""What a claim's row holds that its object alone does not say.

Since when it is allocated comes from the row before; the template that it was generated
from is written in its pod only. Pods and claims come on two streams in either order, so
each of them completes what the other left open.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Cursor, Pod, ResourceClaim
from dra_console.sync.columns import pod_owner_of, template_names_of
from dra_console.sync.reading import text_in, time_in

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
"""Annotation of generated claims: the entry of the pod's `spec.resourceClaims`."""


def complete_claims(
    cluster: Cluster,
    claims: Iterable[ResourceClaim],
    *,
    before: Mapping[str, ResourceClaim],
    seen_at: datetime,
) -> None:
    """Set the columns that depend on other rows; `before` maps UIDs to rows as they were."""
    owned = [(claim, text_in(pod_owner_of(claim.raw), "uid")) for claim in claims]
    pods = owners_among_pods(
        cluster, [(claim.namespace, claim.owner_pod) for claim, uid in owned if uid]
    )
    for claim, owner in owned:
        was = before.get(claim.uid)
        claim.allocated_at = _allocated_at(claim, was, seen_at=seen_at)
        pod = pods.get(owner)
        claim.template_name = template_name(claim, pod) or (was.template_name if was else "")


def owners_among_pods(cluster: Cluster, names: Collection[tuple[str, str]]) -> Mapping[str, Pod]:
    """Read the pods of these namespaces and names, and a few more, by UID."""
    rows = Pod.objects.filter(
        cluster=cluster,
        namespace__in={namespace for namespace, _ in names},
        name__in={name for _, name in names},
    )
    return {pod.uid: pod for pod in rows}


def name_templates(cluster: Cluster, *, pods: Iterable[Pod]) -> None:
    """Write the template into claims that were seen before the pod they are for."""
    by_uid = {pod.uid: pod for pod in pods if template_names_of(pod.raw)}
    if not by_uid:
        return
    # The claims' stream writes with its cursor in hand. Without waiting for it, a claim and
    # its pod that are written at the same time would not see each other, on neither side.
    list(Cursor.objects.select_for_update().filter(cluster=cluster, plural=RESOURCE_CLAIMS.plural))
    waiting = ResourceClaim.objects.filter(
        cluster=cluster,
        namespace__in={pod.namespace for pod in by_uid.values()},
        template_name="",
        owner_pod__in={pod.name for pod in by_uid.values()},
    )
    for claim in waiting:
        pod = by_uid.get(text_in(pod_owner_of(claim.raw), "uid"))
        claim.template_name = template_name(claim, pod)
        if claim.template_name:
            claim.save(update_fields=("template_name",))


def template_name(claim: ResourceClaim, pod: Pod | None) -> str:
    """Name the template that a claim was generated from, by its pod; empty if that is unknown."""
    owner = (claim.namespace, claim.owner_pod)
    entry = text_in(claim.raw, "metadata", "annotations", POD_CLAIM_NAME)
    return template_of_entry(entry, owner=owner, pod=pod)


def template_of_entry(entry: str, *, owner: tuple[str, str], pod: Pod | None) -> str:
    """Name the template of one entry of `spec.resourceClaims`, if the pod is that owner."""
    if pod is None or (pod.namespace, pod.name) != owner:
        # A reference to an owner is within the namespace, and by name and UID.
        return ""
    return template_names_of(pod.raw).get(entry, "")


def _allocated_at(
    claim: ResourceClaim, was: ResourceClaim | None, *, seen_at: datetime
) -> datetime | None:
    if claim.allocation is None:
        return None
    if was is not None and was.allocated_at and was.allocation == claim.allocation:
        return was.allocated_at
    return time_in(claim.allocation, "allocationTimestamp") or seen_at
