"""What `benchmarks.waiting` creates: a fleet of whole GPUs, and claims that wait for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.fleets import WHOLE_GPUS, node_name
from benchmarks.mirror_objects import a_slice
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL, SCHEDULER_NAME

NAMESPACE: Final = "team"
GPUS: Final = 8
GIVEN_BY_THE_SERVER: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "generateName"}
)


@dataclass(frozen=True, slots=True)
class Made:
    """A claim, and what else is created with it; the claim's time runs from the last."""

    claim_name: str
    objects: tuple[JsonObject, ...]


def inventory(nodes: int) -> Iterator[JsonObject]:
    """Build the namespace, the class, and nodes with a slice each."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": WHOLE_GPUS},
        "spec": {
            "selectors": [
                {"cel": {"expression": 'device.attributes["gpu.nvidia.com"].type == "gpu"'}}
            ]
        },
    }
    for number in range(nodes):
        yield _node(node_name(number))
        yield _slice(number)


def made_ahead(prefix: str, count: int) -> list[Made]:
    """Build claims that are to be reserved ahead."""
    labels: JsonObject = {RESERVE_AHEAD_LABEL: "true"}
    return [
        Made(f"{prefix}-{number}", (_claim(f"{prefix}-{number}", labels),))
        for number in range(count)
    ]


def made_with_pods(prefix: str, count: int) -> list[Made]:
    """Build claims, each with a pod that names it."""
    return [
        Made(
            f"{prefix}-{number}",
            (_claim(f"{prefix}-{number}", {}), _pod(f"{prefix}-{number}")),
        )
        for number in range(count)
    ]


def _node(name: str) -> JsonObject:
    condition: JsonObject = {"type": "Ready", "status": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "allocatable": {"cpu": "128", "memory": "1Ti", "pods": "110"},
            "capacity": {"cpu": "128", "memory": "1Ti", "pods": "110"},
            "conditions": [condition],
        },
    }


def _slice(number: int) -> JsonObject:
    published = a_slice(number, gpus=GPUS, version="")
    metadata = published["metadata"]
    kept: JsonObject = {
        key: value
        for key, value in (metadata.items() if isinstance(metadata, dict) else ())
        if key not in {*GIVEN_BY_THE_SERVER, "ownerReferences"}
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": kept,
        "spec": published["spec"],
    }


def _claim(name: str, labels: JsonObject) -> JsonObject:
    request: JsonObject = {
        "name": "gpu",
        "exactly": {"deviceClassName": WHOLE_GPUS, "allocationMode": "ExactCount", "count": 1},
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"devices": {"requests": [request]}},
    }


def _pod(name: str) -> JsonObject:
    container: JsonObject = {
        "name": "main",
        "image": "registry.example/train",
        "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
    }
    claims: list[Json] = [{"name": "gpu", "resourceClaimName": name}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [container],
            "resourceClaims": claims,
        },
    }
