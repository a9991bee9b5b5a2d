"""The requests that are about an object but are not its new state: binding, eviction, token."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import BadRequestError, ConflictError
from dra_console.devcluster.http_paths import Target
from dra_console.devcluster.http_request import Request, decode_object
from dra_console.devcluster.http_response import Response, json_response
from dra_console.devcluster.http_write import deletion_of
from dra_console.devcluster.metadata import metadata_of, now, text, timestamp
from dra_console.devcluster.token_requests import request_token
from dra_console.kube.kinds import PODS

SUCCESS: Final[JsonObject] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


def bind_pod(cluster: Cluster, target: Target, request: Request) -> Response:
    """Assign a pod to a node, once.

    Raises:
        BadRequestError: the binding names no node.
        ConflictError: the pod has a node, is being deleted, or is not the one that was meant.

    """
    binding = decode_object(request)
    destination = binding.get("target")
    node_name = destination.get("name") if isinstance(destination, dict) else None
    if not isinstance(node_name, str) or not node_name:
        raise BadRequestError("target.name: required, the node to bind the pod to")
    pod = cluster.store.get(PODS, target.namespace or "", target.name)
    _check_bindable(pod, binding)
    spec = pod["spec"]
    status = pod.setdefault("status", {})
    if not isinstance(spec, dict) or not isinstance(status, dict):
        raise BadRequestError("spec, status: expected objects")
    spec["nodeName"] = node_name
    conditions = status.get("conditions")
    others: list[Json] = [
        condition
        for condition in (conditions if isinstance(conditions, list) else [])
        if not (isinstance(condition, dict) and condition.get("type") == "PodScheduled")
    ]
    scheduled: JsonObject = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(now()),
    }
    status["conditions"] = [*others, scheduled]
    change = cluster.store.prepare_update(PODS, pod, subresource="binding")
    if not request.is_dry_run:
        cluster.store.commit(change)
    return json_response(SUCCESS, status=201)


def evict_pod(cluster: Cluster, target: Target, request: Request) -> Response:
    """Delete a pod as `kubectl drain` asks for it; there are no disruption budgets here."""
    options = decode_object(request).get("deleteOptions")
    deletion, is_dry_run = deletion_of(options if isinstance(options, dict) else {}, request)
    change = cluster.store.prepare_delete(
        PODS, target.namespace or "", target.name, deletion=deletion
    )
    if not is_dry_run:
        cluster.store.commit(change)
    return json_response(SUCCESS, status=201)


SUBRESOURCE_REQUESTS: Final[Mapping[str, Callable[[Cluster, Target, Request], Response]]] = (
    MappingProxyType({"binding": bind_pod, "eviction": evict_pod, "token": request_token})
)
"""What answers a POST to a subresource, by its name."""


def _check_bindable(pod: JsonObject, binding: JsonObject) -> None:
    metadata, meant = metadata_of(pod), metadata_of(binding)
    name = text(metadata, "name")
    uid = text(meant, "uid")
    if uid and uid != metadata["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {uid},"
            f" UID in object meta: {metadata['uid']}"
        )
        raise ConflictError.of(PODS, name, why)
    version = text(meant, "resourceVersion")
    if version and version != metadata["resourceVersion"]:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {version},"
            f" ResourceVersion in object meta: {metadata['resourceVersion']}"
        )
        raise ConflictError.of(PODS, name, why)
    if "deletionTimestamp" in metadata:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise ConflictError.of(PODS, name, why)
    spec = pod.get("spec")
    current = spec.get("nodeName") if isinstance(spec, dict) else None
    if current:
        why = f'pod {name} is already assigned to node "{current}"'
        raise ConflictError.of(PODS, name, why)
