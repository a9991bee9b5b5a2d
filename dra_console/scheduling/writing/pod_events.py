"""Events on pods, worded as kube-scheduler does, so that `kubectl describe` reads naturally."""

import socket
from datetime import UTC, datetime

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import EVENTS, PODS
from dra_console.mirror.models import Pod
from dra_console.scheduling.names import SCHEDULER_NAME

MESSAGE_LIMIT_CHARACTERS = 1024

log = structlog.get_logger()


def scheduled(client: Client, pod: Pod, node_name: str) -> None:
    """Say that the pod was bound."""
    _emit(
        client,
        pod,
        type_="Normal",
        reason="Scheduled",
        message=f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}",
    )


def failed_scheduling(client: Client, pod: Pod, message: str) -> None:
    """Say why the pod was not placed."""
    _emit(client, pod, type_="Warning", reason="FailedScheduling", message=message)


def _emit(client: Client, pod: Pod, *, type_: str, reason: str, message: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event: JsonObject = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"generateName": f"{pod.name}.", "namespace": pod.namespace},
        "involvedObject": {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "type": type_,
        "reason": reason,
        "message": message[:MESSAGE_LIMIT_CHARACTERS],
        "source": {"component": SCHEDULER_NAME, "host": socket.gethostname()},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        client.create(EVENTS, event, namespace=pod.namespace)
    except ApiError as error:
        # An event informs; the placement it tells of stands without it.
        log.warning("event not written", pod=f"{pod.namespace}/{pod.name}", error=str(error))
