"""The columns that `kubectl get` prints for each kind, and how a cell reads its object.

Names and order follow Kubernetes' printers. A cell reads what clients wrote, so it shows
`<unknown>` or `<none>` for what is absent or of another type, as the printers do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.ages import age
from dra_console.devcluster.pod_columns import pod_ready, pod_restarts, pod_status
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    Kind,
)

ROLE_PREFIX: Final = "node-role.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `read` gets the object and the time of the answer."""

    name: str
    read: Callable[[JsonObject, datetime], Json]
    type: str = "string"
    priority: int = 0
    """0: always shown; 1: with `-o wide`."""


def at(obj: Json, *path: str) -> Json:
    """Return the value at a path of member names, `None` where there is none."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _text(*path: str, absent: str = "<none>") -> Callable[[JsonObject, datetime], Json]:
    def read(obj: JsonObject, _now: datetime) -> Json:
        value = at(obj, *path)
        return absent if value is None or value == "" else str(value)

    return read


def _claim_state(claim: JsonObject, _now: datetime) -> Json:
    states = [
        word
        for word, holds in (
            ("deleted", at(claim, "metadata", "deletionTimestamp")),
            ("allocated", at(claim, "status", "allocation")),
            ("reserved", at(claim, "status", "reservedFor")),
        )
        if holds
    ]
    return ",".join(states) or "pending"


def _node_status(node: JsonObject, _now: datetime) -> Json:
    conditions = at(node, "status", "conditions")
    ready = [
        at(condition, "status")
        for condition in (conditions if isinstance(conditions, list) else ())
        if at(condition, "type") == "Ready"
    ]
    word = "Unknown" if not ready else "Ready" if ready[0] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at(node, "spec", "unschedulable") else word


def _node_roles(node: JsonObject, _now: datetime) -> Json:
    labels = at(node, "metadata", "labels")
    roles = sorted(
        label.removeprefix(ROLE_PREFIX)
        for label in (labels if isinstance(labels, dict) else ())
        if label.startswith(ROLE_PREFIX)
    )
    return ",".join(roles) or "<none>"


def _node_address(node: JsonObject, _now: datetime) -> Json:
    addresses = at(node, "status", "addresses")
    for address in addresses if isinstance(addresses, list) else ():
        if at(address, "type") == "InternalIP":
            return at(address, "address")
    return "<none>"


def _last_seen(event: JsonObject, now: datetime) -> Json:
    moment = at(event, "lastTimestamp") or at(event, "eventTime") or at(event, "firstTimestamp")
    return age(moment or at(event, "metadata", "creationTimestamp"), now)


def _event_object(event: JsonObject, _now: datetime) -> Json:
    kind = at(event, "involvedObject", "kind")
    return f"{str(kind).lower()}/{at(event, 'involvedObject', 'name')}"


def _pool_reach(resource_slice: JsonObject, _now: datetime) -> Json:
    node = at(resource_slice, "spec", "nodeName")
    return node or ("<all>" if at(resource_slice, "spec", "allNodes") else "<selected>")


def _quota(field: str) -> Callable[[JsonObject, datetime], Json]:
    def read(quota: JsonObject, _now: datetime) -> Json:
        hard = at(quota, "status", "hard") or at(quota, "spec", "hard")
        return ", ".join(
            f"{name}: {at(quota, 'status', 'used', name) or '<unknown>'}/{limit}"
            for name, limit in sorted(hard.items() if isinstance(hard, dict) else ())
            if name.startswith("limits.") is (field == "limit")
        )

    return read


NAME: Final = Column("Name", _text("metadata", "name"))
AGE: Final = Column("Age", lambda obj, now: age(at(obj, "metadata", "creationTimestamp"), now))

COLUMNS: Final[Mapping[Kind, tuple[Column, ...]]] = MappingProxyType(
    {
        PODS: (
            NAME,
            Column("Ready", pod_ready),
            Column("Status", pod_status),
            Column("Restarts", pod_restarts),
            AGE,
            Column("IP", _text("status", "podIP"), priority=1),
            Column("Node", _text("spec", "nodeName"), priority=1),
            Column("Nominated Node", _text("status", "nominatedNodeName"), priority=1),
        ),
        NODES: (
            NAME,
            Column("Status", _node_status),
            Column("Roles", _node_roles),
            AGE,
            Column("Version", _text("status", "nodeInfo", "kubeletVersion", absent="<unknown>")),
            Column("Internal-IP", _node_address, priority=1),
            Column(
                "Container-Runtime",
                _text("status", "nodeInfo", "containerRuntimeVersion", absent="<unknown>"),
                priority=1,
            ),
        ),
        NAMESPACES: (NAME, Column("Status", _text("status", "phase", absent="<unknown>")), AGE),
        SERVICE_ACCOUNTS: (NAME, AGE),
        RESOURCE_QUOTAS: (
            NAME,
            Column("Request", _quota("request")),
            Column("Limit", _quota("limit")),
            AGE,
        ),
        EVENTS: (
            Column("Last Seen", _last_seen),
            Column("Type", _text("type")),
            Column("Reason", _text("reason")),
            Column("Object", _event_object),
            Column("Source", _text("source", "component"), priority=1),
            Column("Message", _text("message", absent="")),
            Column("Count", _text("count"), priority=1),
            Column("Name", _text("metadata", "name"), priority=1),
        ),
        RESOURCE_CLAIMS: (NAME, Column("State", _claim_state), AGE),
        RESOURCE_CLAIM_TEMPLATES: (NAME, AGE),
        DEVICE_CLASSES: (NAME, AGE),
        RESOURCE_SLICES: (
            NAME,
            Column("Node", _pool_reach),
            Column("Driver", _text("spec", "driver")),
            Column("Pool", _text("spec", "pool", "name")),
            AGE,
        ),
        DEVICE_TAINT_RULES: (
            NAME,
            Column("Driver", _text("spec", "deviceSelector", "driver", absent="*")),
            Column("Pool", _text("spec", "deviceSelector", "pool", absent="*")),
            Column("Device", _text("spec", "deviceSelector", "device", absent="*")),
            Column("Effect", _text("spec", "taint", "effect")),
            AGE,
        ),
    }
)
