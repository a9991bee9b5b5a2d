"""What a claim's status says and is to say, apart from sending it.

Shapes are those of `resource.k8s.io/v1`: `status.allocation`, `status.reservedFor` and
`status.devices`. Nothing here changes an object that is passed in.
"""

from datetime import datetime
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.names import CONFIRMED_ANNOTATION
from dra_console.scheduling.writing.plan import PodToBind
from dra_console.scheduling.writing.times import seconds_text

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
CONSUMERS_LIMIT: Final = 256
"""Entries of `status.reservedFor`; the API server refuses more (`resource/v1` types)."""

DEVICE_FIELDS: Final = ("request", "driver", "pool", "device", "shareID")


def uid_of(claim: JsonObject) -> str:
    """Return the claim's UID."""
    return str(_metadata(claim).get("uid", ""))


def version_of(claim: JsonObject) -> str:
    """Return the claim's resource version, good for comparing for equality."""
    return str(_metadata(claim).get("resourceVersion", ""))


def name_of(claim: JsonObject) -> str:
    """Spell namespace and name for messages."""
    metadata = _metadata(claim)
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def is_deleting(claim: JsonObject) -> bool:
    """Tell whether somebody has asked for its deletion."""
    return bool(_metadata(claim).get("deletionTimestamp"))


def has_finalizer(claim: JsonObject) -> bool:
    """Tell whether Kubernetes' protection of allocated claims is on it."""
    return FINALIZER in _finalizers(claim)


def with_finalizer(claim: JsonObject) -> JsonObject:
    """Return the claim with the protection."""
    return _with_finalizers(claim, [*_finalizers(claim), FINALIZER])


def without_finalizer(claim: JsonObject) -> JsonObject:
    """Return the claim without the protection."""
    return _with_finalizers(claim, [each for each in _finalizers(claim) if each != FINALIZER])


def confirmation_of(claim: JsonObject) -> Json:
    """Return what was written on the claim before its pod was bound, if anything."""
    return object_of(_metadata(claim).get("annotations")).get(CONFIRMED_ANNOTATION)


def with_confirmation(claim: JsonObject, token: str) -> JsonObject:
    """Return the claim with `token` on it."""
    metadata = _metadata(claim)
    annotations = {**object_of(metadata.get("annotations")), CONFIRMED_ANNOTATION: token}
    return {**claim, "metadata": {**metadata, "annotations": annotations}}


def allocation_of(claim: JsonObject) -> JsonObject | None:
    """Return `status.allocation`, if there is one."""
    allocation = _status(claim).get("allocation")
    return allocation if isinstance(allocation, dict) else None


def consumers_of(claim: JsonObject) -> list[JsonObject]:
    """Return the entries of `status.reservedFor`."""
    return objects_of(_status(claim).get("reservedFor"))


def is_reserved_for(claim: JsonObject, pod: PodToBind) -> bool:
    """Tell whether the pod is among the consumers."""
    return any(entry.get("uid") == pod.uid for entry in consumers_of(claim))


def is_same_allocation(one: JsonObject | None, other: JsonObject | None) -> bool:
    """Tell whether both are of the same devices; the server may have added defaults to one."""
    return _devices(one) == _devices(other)


def with_allocation(
    claim: JsonObject, allocation: JsonObject, *, pod: PodToBind | None, at: datetime | None
) -> JsonObject:
    """Return the claim allocated and, with `pod`, reserved; `at` is the time of allocation."""
    stamp: JsonObject = {} if at is None else {"allocationTimestamp": seconds_text(at)}
    status = {**_status(claim), "allocation": {**allocation, **stamp}}
    allocated: JsonObject = {**claim, "status": status}
    return allocated if pod is None else with_reservation(allocated, pod)


def with_reservation(claim: JsonObject, pod: PodToBind) -> JsonObject:
    """Return the claim with the pod among its consumers."""
    if is_reserved_for(claim, pod):
        return claim
    consumer: JsonObject = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    consumers: list[Json] = [*consumers_of(claim), consumer]
    return {**claim, "status": {**_status(claim), "reservedFor": consumers}}


def without_reservation(claim: JsonObject, pod_uid: str) -> JsonObject:
    """Return the claim without the pod among its consumers."""
    kept: list[Json] = [entry for entry in consumers_of(claim) if entry.get("uid") != pod_uid]
    status = {key: value for key, value in _status(claim).items() if key != "reservedFor"}
    return {**claim, "status": {**status, "reservedFor": kept} if kept else status}


def deallocated(claim: JsonObject) -> JsonObject:
    """Return the claim without devices, consumers, and what drivers said of the devices."""
    gone = {"allocation", "reservedFor", "devices"}
    status = {key: value for key, value in _status(claim).items() if key not in gone}
    return {**claim, "status": status}


def _devices(allocation: JsonObject | None) -> list[tuple[Json, ...]] | None:
    if allocation is None:
        return None
    results = objects_of(object_of(allocation.get("devices")).get("results"))
    return [tuple(result.get(field) for field in DEVICE_FIELDS) for result in results]


def _metadata(claim: JsonObject) -> JsonObject:
    return object_of(claim.get("metadata"))


def _status(claim: JsonObject) -> JsonObject:
    return object_of(claim.get("status"))


def _finalizers(claim: JsonObject) -> list[str]:
    finalizers = _metadata(claim).get("finalizers")
    return (
        [each for each in finalizers if isinstance(each, str)]
        if isinstance(finalizers, list)
        else []
    )


def _with_finalizers(claim: JsonObject, finalizers: list[str]) -> JsonObject:
    return {**claim, "metadata": {**_metadata(claim), "finalizers": [*finalizers]}}
