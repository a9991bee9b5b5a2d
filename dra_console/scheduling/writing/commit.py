"""Write an allocation to the API server, in the order in which kube-scheduler writes it.

For each claim of the pod: finalizer (a normal update), then allocation and reservation
(one status update), and at last the pod's binding. Each write carries the version that it
is based on; a conflict means that somebody was there first: drop the plan and let the
next run plan anew. A crash between two writes leaves a state from which the next run goes
on: a finalizer alone is harmless, an allocated claim pins the pod to its node, and a
reserved claim of a pod that is gone is freed by the cluster's resourceclaim controller.

An allocation is noted in the database before it is sent, and the note is taken back only
when the API server refused it. So devices of a write whose answer was lost stay counted.
Noting asks whose turn it is (`scheduling.writing.turns`), so a run that lost its lease writes none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing.turns import hold_turn

FINALIZER = "resource.kubernetes.io/delete-protection"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim of the pod as it was planned with.

    `allocation` is `status.allocation` to write, or None when the claim has one already
    and only lacks the pod's reservation.
    """

    raw: JsonObject
    allocation: JsonObject | None


@dataclass(frozen=True, slots=True)
class PlannedPod:
    """A pod, the node chosen for it, and its claims."""

    namespace: str
    name: str
    uid: str
    node_name: str
    claims: Sequence[PlannedClaim]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The plan did not hold at the API server; plan anew."""

    reason: str


def commit(
    client: Client, cluster: Cluster, pod: PlannedPod, *, fence: int
) -> list[JsonObject] | Dropped:
    """Write the plan; return the claims as they are now, or why the plan was dropped.

    `fence` is that of the allocation lease that the plan was made under.

    Raises:
        ApiError: the API server refused or failed; writes before that one stand.

    """
    try:
        written = [
            _allocate_and_reserve(client, cluster, claim, pod, fence=fence) for claim in pod.claims
        ]
        client.bind_pod(pod.namespace, pod.name, node_name=pod.node_name, uid=pod.uid)
    except (ConflictError, NotFoundError, TurnOverError) as error:
        log.info("plan dropped", pod=f"{pod.namespace}/{pod.name}", reason=str(error))
        return Dropped(str(error))
    log.info(
        "pod bound",
        pod=f"{pod.namespace}/{pod.name}",
        node=pod.node_name,
        claims=len(written),
    )
    return written


def deallocate(client: Client, claim: JsonObject) -> bool:
    """Clear allocation and reservations of a claim that stands in its own pod's way.

    Tell whether it was cleared; False: it changed meanwhile.
    """
    status = {
        key: value
        for key, value in object_of(claim.get("status")).items()
        if key not in {"allocation", "reservedFor", "devices"}
    }
    try:
        client.replace(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")
    except (ConflictError, NotFoundError):
        return False
    return True


def _allocate_and_reserve(
    client: Client, cluster: Cluster, planned: PlannedClaim, pod: PlannedPod, *, fence: int
) -> JsonObject:
    claim = planned.raw
    status = dict(object_of(claim.get("status")))
    consumer: JsonObject = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    reserved = status.get("reservedFor")
    consumers: list[Json] = list(reserved) if isinstance(reserved, list) else []
    is_reserved = any(object_of(entry).get("uid") == pod.uid for entry in consumers)
    if planned.allocation is None and is_reserved:
        return claim
    if planned.allocation is not None:
        claim = _with_finalizer(client, claim)
        status["allocation"] = planned.allocation
    if not is_reserved:
        status["reservedFor"] = [*consumers, consumer]
    changed: JsonObject = {**claim, "status": status}
    if planned.allocation is None:
        return client.replace(RESOURCE_CLAIMS, changed, subresource="status")
    note = _note(cluster, changed, fence=fence)
    try:
        answer = client.replace(RESOURCE_CLAIMS, changed, subresource="status")
    except (ConflictError, NotFoundError, InvalidError, ForbiddenError):
        note.delete()
        raise
    note.raw = answer
    note.save(update_fields=["raw"])
    return answer


def _with_finalizer(client: Client, claim: JsonObject) -> JsonObject:
    metadata = object_of(claim.get("metadata"))
    finalizers = metadata.get("finalizers")
    present: list[Json] = list(finalizers) if isinstance(finalizers, list) else []
    if FINALIZER in present:
        return claim
    changed: JsonObject = {**metadata, "finalizers": [*present, FINALIZER]}
    return client.replace(RESOURCE_CLAIMS, {**claim, "metadata": changed})


def _note(cluster: Cluster, claim: JsonObject, *, fence: int) -> WrittenAllocation:
    with transaction.atomic():
        hold_turn(cluster, fence=fence)
        note, _ = WrittenAllocation.objects.update_or_create(
            cluster=cluster,
            claim_uid=str(object_of(claim.get("metadata")).get("uid", "")),
            defaults={"raw": claim, "written_at": database_now()},
        )
    return note
