"""What keeps pods from being tried at all, or from starting, whatever devices are free.

Found beside the hot path, from the mirror, for the explanations of all who wait.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from django.db.models import Q

from dra_console.allocator.model import JsonObject, Node
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.mirror.models import Cluster, Pod
from dra_console.scheduling.attempts.subjects import Subject
from dra_console.scheduling.planning.bypassed import why_bypassed
from dra_console.scheduling.planning.claims import claims_in_the_way
from dra_console.scheduling.planning.plans import Refused
from dra_console.scheduling.planning.wishes import wish_of_pod

ENDED: Final = ("Succeeded", "Failed")


def pods_that_wait(cluster: Cluster) -> list[Pod]:
    """List pods without a node, and those that were given one and have not started there."""
    has_no_node = Q(node_name="") & ~Q(phase__in=ENDED)
    has_not_started = ~Q(node_name="") & Q(phase="Pending") & ~Q(claim_names={})
    return list(
        Pod.objects.filter(
            has_no_node | has_not_started, cluster=cluster, deletion_requested_at__isnull=True
        )
    )


def with_hindrance(
    subject: Subject, pod: JsonObject, *, nodes: Mapping[str, Node], is_ours: bool
) -> Subject:
    """Say of a pod's subject what hinders it beside what is said already."""
    found = [subject.hindrance, _in_the_way(subject, nodes)]
    if is_ours:
        wish = wish_of_pod(pod)
        if isinstance(wish, Refused):
            found.append(wish.reason)
    return replace(subject, hindrance="; ".join(filter(None, found)))


def _in_the_way(subject: Subject, nodes: Mapping[str, Node]) -> str:
    node_name = subject.pod_spec.get("nodeName")
    if not node_name:
        return claims_in_the_way(subject.claims, pod_uid=subject.pod_uid, in_flight=())
    node = nodes.get(str(node_name))
    try:
        return "" if node is None else why_bypassed(node, subject.claims)
    except NodeSelectorError as error:
        return str(error)
