"""The types of fields, as Kubernetes' decoder checks them before any rule.

Only fields that somebody here reads are listed: everything else of a kind passes as it is.
Whoever reads a stored object may rely on these types, since nothing else gets in.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from dra_console.allocator.decoding.reading import (
    Fields,
    boolean_at,
    integer_at,
    kind_of,
    quantity_at,
    text_at,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import (
    DEVICE_TAINT_RULES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
    Kind,
)

Leaf: TypeAlias = Callable[[str, Json], object]
Shape: TypeAlias = "Leaf | tuple[Shape] | Mapping[str, Shape]"
"""A check of one value, a list of one shape (as a tuple), or an object by field.

In an object, the field `*` stands for every field that is not named.
"""

TEXT: Final[Leaf] = text_at
NUMBER: Final[Leaf] = integer_at
FLAG: Final[Leaf] = boolean_at
QUANTITY: Final[Leaf] = quantity_at

TEXT_MAP: Final[Mapping[str, Shape]] = {"*": TEXT}
QUANTITY_MAP: Final[Mapping[str, Shape]] = {"*": QUANTITY}

OWNER: Final[Mapping[str, Shape]] = {
    "apiVersion": TEXT,
    "kind": TEXT,
    "name": TEXT,
    "uid": TEXT,
    "controller": FLAG,
    "blockOwnerDeletion": FLAG,
}
METADATA: Final[Mapping[str, Shape]] = {
    "name": TEXT,
    "generateName": TEXT,
    "namespace": TEXT,
    "uid": TEXT,
    "resourceVersion": TEXT,
    "labels": TEXT_MAP,
    "annotations": TEXT_MAP,
    "finalizers": (TEXT,),
    "ownerReferences": (OWNER,),
}
CONDITION: Final[Mapping[str, Shape]] = {
    "type": TEXT,
    "status": TEXT,
    "reason": TEXT,
    "message": TEXT,
    "lastTransitionTime": TEXT,
    "lastHeartbeatTime": TEXT,
}
TAINT: Final[Mapping[str, Shape]] = {
    "key": TEXT,
    "value": TEXT,
    "effect": TEXT,
    "timeAdded": TEXT,
}
CONTAINER: Final[Mapping[str, Shape]] = {
    "name": TEXT,
    "image": TEXT,
    "command": (TEXT,),
    "args": (TEXT,),
    "restartPolicy": TEXT,
    "ports": ({"containerPort": NUMBER, "protocol": TEXT},),
    "resources": {
        "claims": ({"name": TEXT, "request": TEXT},),
        "requests": QUANTITY_MAP,
        "limits": QUANTITY_MAP,
    },
}
CONTAINER_STATUS: Final[Mapping[str, Shape]] = {
    "name": TEXT,
    "image": TEXT,
    "containerID": TEXT,
    "ready": FLAG,
    "started": FLAG,
    "restartCount": NUMBER,
    "state": {"*": {"reason": TEXT, "message": TEXT, "exitCode": NUMBER}},
    "lastState": {"*": {"reason": TEXT, "message": TEXT, "exitCode": NUMBER}},
}
DEVICE: Final[Mapping[str, Shape]] = {"driver": TEXT, "pool": TEXT, "device": TEXT, "shareID": TEXT}
RESULT: Final[Mapping[str, Shape]] = {
    **DEVICE,
    "request": TEXT,
    "adminAccess": FLAG,
    "tolerations": ({**TAINT, "operator": TEXT, "tolerationSeconds": NUMBER},),
    "bindingConditions": (TEXT,),
    "bindingFailureConditions": (TEXT,),
    "consumedCapacity": QUANTITY_MAP,
}
NODE_SELECTOR_TERM: Final[Mapping[str, Shape]] = {
    "matchExpressions": ({"key": TEXT, "operator": TEXT, "values": (TEXT,)},),
    "matchFields": ({"key": TEXT, "operator": TEXT, "values": (TEXT,)},),
}
NODE_SELECTOR: Final[Mapping[str, Shape]] = {"nodeSelectorTerms": (NODE_SELECTOR_TERM,)}

SHAPES: Final[Mapping[Kind, Mapping[str, Shape]]] = MappingProxyType(
    {
        NODES: {
            "spec": {"unschedulable": FLAG, "taints": (TAINT,)},
            "status": {
                "capacity": QUANTITY_MAP,
                "allocatable": QUANTITY_MAP,
                "conditions": (CONDITION,),
                "addresses": ({"type": TEXT, "address": TEXT},),
                "nodeInfo": TEXT_MAP,
            },
        },
        NAMESPACES: {"spec": {"finalizers": (TEXT,)}, "status": {"phase": TEXT}},
        PODS: {
            "spec": {
                "nodeName": TEXT,
                "schedulerName": TEXT,
                "serviceAccountName": TEXT,
                "restartPolicy": TEXT,
                "activeDeadlineSeconds": NUMBER,
                "terminationGracePeriodSeconds": NUMBER,
                "nodeSelector": TEXT_MAP,
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": NODE_SELECTOR
                    }
                },
                "tolerations": ({**TAINT, "operator": TEXT, "tolerationSeconds": NUMBER},),
                "initContainers": (CONTAINER,),
                "containers": (CONTAINER,),
                "overhead": QUANTITY_MAP,
                "schedulingGates": ({"name": TEXT},),
                "resourceClaims": (
                    {"name": TEXT, "resourceClaimName": TEXT, "resourceClaimTemplateName": TEXT},
                ),
            },
            "status": {
                "phase": TEXT,
                "reason": TEXT,
                "message": TEXT,
                "startTime": TEXT,
                "podIP": TEXT,
                "hostIP": TEXT,
                "conditions": (CONDITION,),
                "initContainerStatuses": (CONTAINER_STATUS,),
                "containerStatuses": (CONTAINER_STATUS,),
                "resourceClaimStatuses": ({"name": TEXT, "resourceClaimName": TEXT},),
            },
        },
        EVENTS: {
            "involvedObject": TEXT_MAP,
            "reason": TEXT,
            "message": TEXT,
            "type": TEXT,
            "count": NUMBER,
            "firstTimestamp": TEXT,
            "lastTimestamp": TEXT,
            "eventTime": TEXT,
            "source": TEXT_MAP,
            "reportingComponent": TEXT,
        },
        SERVICE_ACCOUNTS: {"secrets": (TEXT_MAP,), "imagePullSecrets": (TEXT_MAP,)},
        RESOURCE_QUOTAS: {
            "spec": {"hard": QUANTITY_MAP},
            "status": {"hard": QUANTITY_MAP, "used": QUANTITY_MAP},
        },
        RESOURCE_CLAIMS: {
            "status": {
                "allocation": {
                    "devices": {
                        "results": (RESULT,),
                        "config": (
                            {"source": TEXT, "requests": (TEXT,), "opaque": {"driver": TEXT}},
                        ),
                    },
                    "nodeSelector": NODE_SELECTOR,
                    "allocationTimestamp": TEXT,
                },
                "reservedFor": ({"apiGroup": TEXT, "resource": TEXT, "name": TEXT, "uid": TEXT},),
                "devices": ({**DEVICE, "conditions": (CONDITION,)},),
            }
        },
        DEVICE_TAINT_RULES: {
            "spec": {
                "deviceSelector": {"driver": TEXT, "pool": TEXT, "device": TEXT},
                "taint": TAINT,
            },
            "status": {"conditions": (CONDITION,)},
        },
    }
)
"""What the allocator does not check itself: the core kinds, and the statuses of its own."""


def check_shape(kind: Kind, obj: JsonObject) -> None:
    """Check the types of an object's fields; `null` counts as absent.

    Raises:
        DecodeError: a field is of another type than the API declares; the message names it.

    """
    shape = {"spec": {}, "status": {}, **SHAPES.get(kind, {}), "metadata": METADATA}
    _check("", obj, cast("Shape", shape))


def _check(path: str, value: Json, shape: Shape) -> None:
    if value is None:
        return
    if isinstance(shape, Mapping):
        fields = Fields.at(path, value)
        for name, inner in fields.raw.items():
            if name in shape or "*" in shape:
                _check(fields.path_of(name), inner, shape.get(name, shape.get("*", {})))
    elif isinstance(shape, tuple):
        if not isinstance(value, list):
            raise DecodeError(path, f"expected a list, got {kind_of(value)}")
        (each,) = shape
        for index, item in enumerate(value):
            if item is None:
                raise DecodeError(f"{path}[{index}]", "expected a value, got null")
            _check(f"{path}[{index}]", item, each)
    else:
        shape(path, value)
