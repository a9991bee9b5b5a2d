"""A control plane for tests of schedulers: what of Kubernetes takes part, and nothing else."""

from typing import Any, Final

from dra_console.allocator.api_json import JsonObject, objects_of
from dra_console.kube.kinds import Kind
from tests.cluster.chaos.http import Connection

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


def stored(connection: Connection, *kinds: Kind) -> list[JsonObject]:
    """List all objects of some kinds, each with its kind, which lists leave out."""
    return [
        {"apiVersion": kind.api_version, "kind": kind.kind, **each}
        for kind in kinds
        for each in objects_of(connection.send("GET", kind.path(None))[1]["items"])
    ]
