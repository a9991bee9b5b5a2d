"""Keep some of the demo's GPUs busy, so that the pages live.

Acts as any user of the cluster would: creates templates and pods through the API
server, and never touches a claim. Pods end by themselves (`sleep N`); finished ones are
deleted here, as a Job controller's time to live would.
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES

NAMESPACE = "team-vision"
LABEL = "demo.dra-console.io/workload"
BUSY_PODS = 9
ROUND_SECONDS = 4.0
SHORTEST_SECONDS = 40
LONGEST_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of work: what its template asks for, and how often it comes."""

    name: str
    device_class: str
    count: int = 1
    selector: str = ""
    together_on: str = ""
    weight: int = 1


SHAPES = (
    Shape("train-h100", "gpu.nvidia.com", count=2, together_on="resource.kubernetes.io/pcieRoot"),
    Shape("embed-h100", "gpu.nvidia.com", weight=3),
    Shape(
        "notebook-1g",
        "mig.nvidia.com",
        selector='device.attributes["gpu.nvidia.com"].profile == "1g.5gb"',
        weight=2,
    ),
    Shape(
        "notebook-3g",
        "mig.nvidia.com",
        selector='device.attributes["gpu.nvidia.com"].profile == "3g.20gb"',
    ),
    Shape("serve-l4", "l4.nvidia.com", weight=2),
)

HOPELESS = Shape(
    "train-b200",
    "gpu.nvidia.com",
    count=4,
    selector='device.attributes["gpu.nvidia.com"].productName.contains("B200")',
)
"""Asks for GPUs that no node has: one claim always waits, so that its page can say why."""


def main() -> None:
    """Run until killed; an API server that is away is waited for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    client = Client.from_kubeconfig(parser.parse_args().kubeconfig)
    chance = random.Random()  # noqa: S311 - picks demo pods, guards nothing
    while True:
        try:
            play_round(client, chance)
        except ApiError as error:
            print(f"waiting for the API server: {error}", flush=True)  # noqa: T201 - the log
        time.sleep(ROUND_SECONDS)


def play_round(client: Client, chance: random.Random) -> None:
    """Delete finished pods and start at most two new ones."""
    for shape in (*SHAPES, HOPELESS):
        _ensure_template(client, shape)
    pods = client.list(PODS, namespace=NAMESPACE, label_selector=LABEL).items
    alive = []
    for pod in pods:
        if _phase(pod) in {"Succeeded", "Failed"}:
            _delete(client, pod)
        else:
            alive.append(pod)
    if not any(_shape_name(pod) == HOPELESS.name for pod in alive):
        client.create(PODS, _pod(HOPELESS, seconds=LONGEST_SECONDS), namespace=NAMESPACE)
    for shape in _next_shapes(chance, room=BUSY_PODS - len(alive)):
        seconds = chance.randint(SHORTEST_SECONDS, LONGEST_SECONDS)
        client.create(PODS, _pod(shape, seconds=seconds), namespace=NAMESPACE)


def _next_shapes(chance: random.Random, *, room: int) -> Iterator[Shape]:
    weights = [shape.weight for shape in SHAPES]
    yield from chance.choices(SHAPES, weights, k=max(0, min(2, room)))


def _ensure_template(client: Client, shape: Shape) -> None:
    try:
        client.get(RESOURCE_CLAIM_TEMPLATES, shape.name, namespace=NAMESPACE)
    except NotFoundError:
        client.create(RESOURCE_CLAIM_TEMPLATES, _template(shape), namespace=NAMESPACE)


def _delete(client: Client, pod: JsonObject) -> None:
    metadata = pod["metadata"]
    if isinstance(metadata, dict):
        try:
            client.delete(PODS, str(metadata["name"]), namespace=NAMESPACE)
        except (NotFoundError, ConflictError):
            return  # somebody else deleted it


def _phase(pod: JsonObject) -> str:
    status = pod.get("status")
    return str(status.get("phase", "")) if isinstance(status, dict) else ""


def _shape_name(pod: JsonObject) -> str:
    metadata = pod["metadata"]
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return str(labels.get(LABEL, "")) if isinstance(labels, dict) else ""


def _template(shape: Shape) -> JsonObject:
    exactly: JsonObject = {
        "deviceClassName": shape.device_class,
        "allocationMode": "ExactCount",
        "count": shape.count,
    }
    if shape.selector:
        exactly["selectors"] = [{"cel": {"expression": shape.selector}}]
    devices: JsonObject = {"requests": [{"name": "gpu", "exactly": exactly}]}
    if shape.together_on:
        devices["constraints"] = [{"requests": ["gpu"], "matchAttribute": shape.together_on}]
    return {
        "apiVersion": RESOURCE_CLAIM_TEMPLATES.api_version,
        "kind": RESOURCE_CLAIM_TEMPLATES.kind,
        "metadata": {"name": shape.name, "namespace": NAMESPACE},
        "spec": {"spec": {"devices": devices}},
    }


def _pod(shape: Shape, *, seconds: int) -> JsonObject:
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "generateName": f"{shape.name}-",
            "namespace": NAMESPACE,
            "labels": {LABEL: shape.name},
        },
        "spec": {
            "schedulerName": "dra-console",
            "restartPolicy": "Never",
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": shape.name}],
            "containers": [
                {
                    "name": "work",
                    "image": "registry.k8s.io/pause:3.10",
                    "args": ["sleep", str(seconds)],
                    "resources": {"claims": [{"name": "gpu"}], "requests": {"cpu": "500m"}},
                }
            ],
        },
    }


if __name__ == "__main__":
    main()
