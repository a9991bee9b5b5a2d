"""What the console says of pods and claims in Events, in kube-scheduler's words.

`kubectl describe` then reads the same whoever schedules. Shapes follow what kube-scheduler
v1.37 writes (`events.k8s.io/v1`, stored as `v1`).
"""

from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind
from dra_console.scheduling.writing.claim_status import allocation_of, uid_of

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
FAILED_SCHEDULING: Final = "FailedScheduling"
MESSAGE_LIMIT_CHARACTERS: Final = 1024
"""Of an Event; the API server refuses longer ones."""

CUT: Final = " ..."


@dataclass(frozen=True, slots=True)
class Regarding:
    """The object that an Event is about."""

    kind: Kind
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to say; equal ones are counted instead of repeated."""

    regarding: Regarding
    event_type: str
    reason: str
    action: str
    message: str


def pod_named(namespace: str, name: str, uid: str) -> Regarding:
    """Name a pod."""
    return Regarding(PODS, namespace, name, uid)


def claim_of(claim: JsonObject) -> Regarding:
    """Name a claim."""
    metadata = object_of(claim.get("metadata"))
    namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    return Regarding(RESOURCE_CLAIMS, namespace, name, uid_of(claim))


def scheduled(pod: Regarding, node_name: str) -> Remark:
    """Say that the pod was bound."""
    message = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
    return Remark(pod, NORMAL, "Scheduled", "Binding", message)


def waits_for_devices(pod: Regarding, node_name: str) -> Remark:
    """Say that the pod's devices are being prepared."""
    message = f"waiting for binding conditions for device on node {node_name}"
    return Remark(pod, NORMAL, "BindingConditionsPending", "Scheduling", message)


def failed_scheduling(pod: Regarding, message: str) -> Remark:
    """Say why the pod was not placed."""
    return Remark(pod, WARNING, FAILED_SCHEDULING, "Scheduling", shortened(message))


def reserved_ahead(claim: JsonObject) -> Remark:
    """Say which devices a claim got before any pod uses it."""
    results = objects_of(object_of((allocation_of(claim) or {}).get("devices")).get("results"))
    devices = ", ".join(
        f"{each.get('driver')}/{each.get('pool')}/{each.get('device')}" for each in results
    )
    message = shortened(f"Reserved ahead of pods: {devices or 'no devices'}")
    return Remark(claim_of(claim), NORMAL, "Allocated", "Allocating", message)


def failed_allocation(claim: JsonObject, message: str) -> Remark:
    """Say why a claim was not reserved ahead."""
    return Remark(claim_of(claim), WARNING, "FailedAllocation", "Allocating", shortened(message))


def deallocated(claim: JsonObject, why: str) -> Remark:
    """Say that a claim gave its devices back before a pod ran with them."""
    return Remark(claim_of(claim), NORMAL, "Deallocated", "Scheduling", shortened(why))


def shortened(message: str) -> str:
    """Cut a message to what an Event takes."""
    if len(message) <= MESSAGE_LIMIT_CHARACTERS:
        return message
    return message[: MESSAGE_LIMIT_CHARACTERS - len(CUT)] + CUT
