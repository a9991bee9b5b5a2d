"""How `kubectl get pods` words the state of a pod (Kubernetes' `printPod`)."""

from collections.abc import Iterable
from datetime import datetime

from dra_console.allocator.model import Json, JsonObject


def pod_ready(pod: JsonObject, _now: datetime) -> Json:
    """Count ready containers, as in `1/2`."""
    statuses = _containers(pod, "status", "containerStatuses")
    ready = sum(1 for status in statuses if status.get("ready") is True)
    return f"{ready}/{len(_containers(pod, 'spec', 'containers'))}"


def pod_restarts(pod: JsonObject, _now: datetime) -> Json:
    """Sum the restarts of all containers."""
    counts = [
        status.get("restartCount") for status in _containers(pod, "status", "containerStatuses")
    ]
    return str(sum(count for count in counts if isinstance(count, int)))


def pod_status(pod: JsonObject, _now: datetime) -> Json:
    """Name the most telling state: of a container, of the pod, or that it is terminating."""
    status = _object(pod.get("status"))
    metadata = _object(pod.get("metadata"))
    word = status.get("reason") or status.get("phase") or "Unknown"
    gated = any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
        for condition in _containers(pod, "status", "conditions")
    )
    if gated:
        word = "SchedulingGated"
    for container in _containers(pod, "status", "containerStatuses"):
        state = _object(container.get("state"))
        reason = _object(state.get("waiting")).get("reason")
        reason = reason or _object(state.get("terminated")).get("reason")
        word = reason or word
    if metadata.get("deletionTimestamp") and status.get("phase") not in {"Succeeded", "Failed"}:
        return "Terminating"
    return word


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _containers(pod: JsonObject, part: str, field: str) -> list[JsonObject]:
    found = _object(pod.get(part)).get(field)
    entries: Iterable[Json] = found if isinstance(found, list) else ()
    return [entry for entry in entries if isinstance(entry, dict)]
