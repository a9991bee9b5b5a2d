"""A small fleet on an API server: what every test of allocation begins with."""

from collections.abc import Iterable
from typing import Any, Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from tests.builders.objects import a_class, a_device, a_namespace, a_node, a_slice, unborn

KINDS: Final = (NAMESPACES, NODES, DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS, PODS)


def create(client: Client, one: JsonObject) -> Any:
    """Create an object of any of the kinds, and return it as the server has it."""
    born: Any = unborn(one)
    (kind,) = (kind for kind in KINDS if kind.kind == born["kind"])
    return client.create(kind, born, namespace=born["metadata"].get("namespace"))


def make_fleet(
    client: Client, *nodes: str, devices_per_node: int = 2, cordoned: Iterable[str] = ()
) -> None:
    """Make the namespace, the class, and Ready nodes, each with a pool of GPUs of its name."""
    create(client, a_namespace())
    create(client, a_class())
    for name in nodes:
        create(client, a_ready_node(name, unschedulable=name in cordoned))
        devices: list[JsonObject] = [a_device(f"gpu-{n}") for n in range(devices_per_node)]
        create(client, a_slice(node=name, devices=devices))


def a_ready_node(name: str, *, unschedulable: bool = False) -> JsonObject:
    """Build a node that takes pods, unless it is cordoned."""
    spec: JsonObject = {"unschedulable": True} if unschedulable else {}
    status: JsonObject = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {**a_node(name), "spec": spec, "status": status}
