"""Objects as clients send them, without what the server fills in, and how they are refused."""

from collections.abc import Callable

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import InvalidError
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIMS

LAB = "lab"


def metadata(name: str, namespace: str | None = LAB, **fields: Json) -> JsonObject:
    found: JsonObject = {"name": name, **fields}
    if namespace is not None:
        found["namespace"] = namespace
    return found


def new_namespace(name: str = LAB, **labels: str) -> JsonObject:
    return {"metadata": metadata(name, None, labels=dict(labels))}


def new_pod(
    name: str = "trainer", *, node: str = "", fields: JsonObject | None = None
) -> JsonObject:
    spec: JsonObject = {"containers": [{"name": "main", "image": "pause"}], **(fields or {})}
    if node:
        spec["nodeName"] = node
    return {"metadata": metadata(name), "spec": spec}


def new_claim(
    name: str = "gpu", *, fields: JsonObject | None = None, **request: Json
) -> JsonObject:
    """Build a claim with one request; keywords and `fields` are the request's."""
    exactly: JsonObject = {"deviceClassName": "gpu.nvidia.com", **request, **(fields or {})}
    requests: list[Json] = [{"name": "gpu", "exactly": exactly}]
    return {"metadata": metadata(name), "spec": {"devices": {"requests": requests}}}


def new_slice(name: str = "gpu-01-0", *, node: str = "gpu-01", **fields: Json) -> JsonObject:
    spec: JsonObject = {
        "driver": "gpu.nvidia.com",
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        **fields,
    }
    return {"metadata": metadata(name, None), "spec": spec}


def an_allocation(device: str = "gpu-0") -> JsonObject:
    result: JsonObject = {
        "request": "gpu",
        "driver": "gpu.nvidia.com",
        "pool": "gpu-01",
        "device": device,
    }
    return {"devices": {"results": [result]}}


def a_consumer(name: str = "trainer", uid: str = "uid-1") -> JsonObject:
    return {"resource": "pods", "name": name, "uid": uid}


def with_namespace(store: Store, name: str = LAB, **labels: str) -> Store:
    """Create a namespace and return the store."""
    store.create(NAMESPACES, new_namespace(name, **labels))
    return store


def fields_refused(write: Callable[[], object]) -> list[tuple[str, str]]:
    """Return field and reason of each cause for which a write is refused."""
    with pytest.raises(InvalidError) as refused:
        write()
    return [(cause.field, cause.reason) for cause in refused.value.causes]


def with_status(store: Store, claim: JsonObject, **status: Json) -> JsonObject:
    """Write a claim's status."""
    return store.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")
