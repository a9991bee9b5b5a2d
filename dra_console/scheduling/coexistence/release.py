"""Take back what nobody uses any more, where no controller does it: as the person who asks.

The order is kube-controller-manager's: first status, then finalizer, so that no claim loses
its finalizer while it has devices. Only the finalizer that marks an allocation is removed; any
other belongs to somebody. The console never does this by itself: that nobody cleans can be
seen, but not that nobody will.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from dra_console.access.audit import Write, audited
from dra_console.access.errors import NoClusterIdentityError
from dra_console.access.rules import client_for
from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.claim_findings import FINALIZER
from dra_console.scheduling.coexistence.consumers import FINISHED

TAKEN_BACK: Final = frozenset({"allocation", "reservedFor", "devices"})


class Why(StrEnum):
    """Why nothing was taken back."""

    GONE = "gone"
    CHANGED = "changed-since"
    IN_USE = "in-use"
    NOTHING_HELD = "nothing-held"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Released:
    """The claim as it is stored now, without devices."""

    claim: JsonObject
    devices: int


@dataclass(frozen=True, slots=True)
class NotReleased:
    """Nothing was taken back, or not all of it; the message says so."""

    why: Why
    message: str


def release(
    user: AbstractBaseUser, cluster: Cluster, namespace: str, name: str, *, resource_version: str
) -> Released | NotReleased:
    """Clear allocation and reservations of a claim that no living consumer has.

    `resource_version` is that of the claim as the person saw it; a claim that changed since,
    if only by a new reservation, is left alone.
    """
    try:
        client = client_for(user, cluster)
        claim = client.get(RESOURCE_CLAIMS, name, namespace=namespace)
        refused = _refusal(client, claim, resource_version=resource_version)
        if refused is not None:
            return refused
        return _take_back(user, client, cluster, claim)
    except NotFoundError:
        return NotReleased(Why.GONE, f"There is no claim {namespace}/{name}.")
    except ConflictError:
        return _changed(namespace, name)
    except (ApiError, NoClusterIdentityError) as error:
        return NotReleased(Why.REFUSED, str(error))


def _refusal(client: Client, claim: JsonObject, *, resource_version: str) -> NotReleased | None:
    metadata, status = object_of(claim.get("metadata")), object_of(claim.get("status"))
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    if metadata.get("resourceVersion") != resource_version:
        return _changed(namespace, name)
    if status.get("allocation") is None and not _leaves_finalizer(metadata):
        return NotReleased(Why.NOTHING_HELD, f"Claim {namespace}/{name} holds nothing.")
    for consumer in objects_of(status.get("reservedFor")):
        if in_use := _in_use(client, namespace, consumer):
            return NotReleased(Why.IN_USE, in_use)
    return None


def _leaves_finalizer(metadata: JsonObject) -> bool:
    finalizers = metadata.get("finalizers")
    return isinstance(finalizers, list) and FINALIZER in finalizers


def _in_use(client: Client, namespace: str, consumer: JsonObject) -> str:
    """Ask the API server whether a consumer lives; empty: it does not.

    Raises:
        ApiError: it cannot be asked, so nobody knows.

    """
    name, resource = str(consumer.get("name")), str(consumer.get("resource"))
    group = str(consumer.get("apiGroup") or "")
    if group or resource != "pods":
        kind = f"{resource}.{group}".rstrip(".")
        return f"It is reserved for {kind} {name}, of which nobody here knows whether it lives."
    try:
        pod = client.get(PODS, name, namespace=namespace)
    except NotFoundError:
        return ""
    metadata = object_of(pod.get("metadata"))
    phase = str(object_of(pod.get("status")).get("phase", ""))
    node = object_of(pod.get("spec")).get("nodeName")
    if metadata.get("uid") != consumer.get("uid") or phase in FINISHED:
        return ""
    if metadata.get("deletionTimestamp") and not node:
        return ""
    where = f" on {node}" if node else ""
    return f"Pod {namespace}/{name} uses it: {phase or 'phase not known'}{where}."


def _take_back(
    user: AbstractBaseUser, client: Client, cluster: Cluster, claim: JsonObject
) -> Released:
    metadata, status = object_of(claim.get("metadata")), object_of(claim.get("status"))
    allocation = object_of(status.get("allocation"))
    devices = objects_of(object_of(allocation.get("devices")).get("results"))
    write = Write(
        cluster,
        "update",
        RESOURCE_CLAIMS,
        namespace=str(metadata.get("namespace")),
        name=str(metadata.get("name")),
    )
    if TAKEN_BACK & status.keys():
        kept = {key: value for key, value in status.items() if key not in TAKEN_BACK}
        with audited(user, write) as effect:
            effect.before = claim
            claim = effect.after = client.replace(
                RESOURCE_CLAIMS, {**claim, "status": kept}, subresource="status"
            )
    metadata = object_of(claim.get("metadata"))
    if _leaves_finalizer(metadata):
        with audited(user, write) as effect:
            effect.before = claim
            claim = effect.after = client.replace(
                RESOURCE_CLAIMS, {**claim, "metadata": _without_finalizer(metadata)}
            )
    return Released(claim, len(devices))


def _without_finalizer(metadata: JsonObject) -> JsonObject:
    finalizers = metadata.get("finalizers")
    kept: list[Json] = (
        [each for each in finalizers if each != FINALIZER] if isinstance(finalizers, list) else []
    )
    return {**metadata, "finalizers": kept}


def _changed(namespace: str, name: str) -> NotReleased:
    return NotReleased(
        Why.CHANGED, f"Claim {namespace}/{name} has changed since you looked; look again."
    )
