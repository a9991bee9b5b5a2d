"""A control plane for tests of schedulers: what of Kubernetes takes part, and nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from dra_console.allocator.api_json import JsonObject, objects_of
from dra_console.kube.kinds import Kind
from tests.cluster.chaos.http import Connection
from tests.cluster.rig import Cluster
from tests.cluster.workloads import eventually

CONTROLLERS: Final = (
    "garbage-collector-controller",
    "namespace-controller",
    "resourceclaim-controller",
    "serviceaccount-controller",
)
"""Those that have a part in a claim's life. Others only take time of a small machine."""

FAST: Final = ("--kube-api-qps=1000", "--kube-api-burst=2000")
ADMIN_ACCESS: Final = {"resource.kubernetes.io/admin-access": "true"}


def options(*, filter_seconds: int) -> dict[str, Any]:
    """Options of a rig; kube-scheduler looks for devices on one node for so long."""
    devices = {"name": "DynamicResources", "args": {"filterTimeout": f"{filter_seconds}s"}}
    return {
        "controllers": CONTROLLERS,
        "controller_flags": FAST,
        "scheduler": True,
        "scheduler_configuration": {"profiles": [{"pluginConfig": [devices]}]},
        "resource_versions": ("v1",),
    }


def add_namespace(cluster: Cluster, name: str, labels: Mapping[str, str] = ADMIN_ACCESS) -> None:
    """Make a namespace in which pods can be made."""
    body = {"metadata": {"name": name, "labels": dict(labels)}}
    cluster.api.create("/api/v1/namespaces", body)
    eventually(lambda: cluster.api.answers(f"/api/v1/namespaces/{name}/serviceaccounts/default"))


def stored(connection: Connection, *kinds: Kind) -> list[JsonObject]:
    """List all objects of some kinds, each with its kind, which lists leave out."""
    return [
        {"apiVersion": kind.api_version, "kind": kind.kind, **each}
        for kind in kinds
        for each in objects_of(connection.send("GET", kind.path(None))[1]["items"])
    ]
