"""Who waits for this console to place them, in the order in which they are tried.

Pods that name the console as their scheduler, and claims that it is to reserve ahead: higher
priority before lower, then older before younger. Only what the order depends on is read of an
object. Other schedulers order as they like and tell nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from dra_console.mirror.models import ClaimState, Cluster, Pod, ResourceClaim
from dra_console.scheduling.names import (
    PRIORITY_ANNOTATION,
    RESERVE_AHEAD_LABEL,
    SCHEDULER_NAME,
)

FINISHED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class InLine:
    """Somebody who waits for the console; the order is that of the line."""

    uid: str
    namespace: str
    name: str
    is_pod: bool
    """False: a claim that is to be reserved ahead."""

    priority: int
    created_at: datetime
    claim_names: tuple[str, ...]
    """Claims of a pod that exist or are named; a claim's own name."""


def waiting_line(cluster: Cluster) -> list[InLine]:
    """List who waits, first come first, in two queries."""
    waiting = [*_pods(cluster), *_claims(cluster)]
    return sorted(waiting, key=lambda one: (-one.priority, one.created_at, one.namespace, one.name))


def waiting_elsewhere(cluster: Cluster) -> Mapping[str, int]:
    """Count the pods that wait for other schedulers, by the scheduler's name."""
    pods = _unplaced(cluster).exclude(scheduler_name=SCHEDULER_NAME)
    counts = pods.values("scheduler_name").annotate(pods=Count("pk"))
    return dict(counts.values_list("scheduler_name", "pods"))


def _unplaced(cluster: Cluster) -> QuerySet[Pod]:
    pods = Pod.objects.order_by().filter(cluster=cluster, node_name="", deletion_requested_at=None)
    return pods.exclude(phase__in=FINISHED)


def _pods(cluster: Cluster) -> Iterator[InLine]:
    spec = KeyTransform("spec", "raw")
    rows = (
        _unplaced(cluster)
        .filter(scheduler_name=SCHEDULER_NAME)
        .annotate(
            priority=KeyTransform("priority", spec), gates=KeyTransform("schedulingGates", spec)
        )
        .values_list("uid", "namespace", "name", "priority", "created_at", "claim_names", "gates")
    )
    for uid, namespace, name, priority, created_at, claims, gates in rows:
        if not gates:
            names = tuple(claims.values())
            yield InLine(uid, namespace, name, True, _whole(priority), created_at, names)


def _claims(cluster: Cluster) -> Iterator[InLine]:
    metadata = KeyTransform("metadata", "raw")
    rows = (
        ResourceClaim.objects.order_by()
        .filter(cluster=cluster, state=ClaimState.PENDING)
        .annotate(
            ahead=KeyTextTransform(RESERVE_AHEAD_LABEL, KeyTransform("labels", metadata)),
            priority=KeyTextTransform(PRIORITY_ANNOTATION, KeyTransform("annotations", metadata)),
        )
        .filter(ahead="true")
        .values_list("uid", "namespace", "name", "priority", "created_at")
    )
    for uid, namespace, name, priority, created_at in rows:
        yield InLine(uid, namespace, name, False, _whole(priority), created_at, (name,))


def _whole(value: object) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return 0
    return value if isinstance(value, int) else 0
