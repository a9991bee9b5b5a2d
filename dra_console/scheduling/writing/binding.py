"""Bind a pod to its node, and find out what became of a binding whose answer was lost."""

from datetime import UTC, datetime, timedelta
from typing import Final

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS
from dra_console.scheduling.writing import points
from dra_console.scheduling.writing.plan import PodToBind
from dra_console.scheduling.writing.pod_status import disowned_at, unschedulable
from dra_console.scheduling.writing.points import WritePoint
from dra_console.scheduling.writing.sending import Writer, is_certain
from dra_console.scheduling.writing.times import seconds_text

TRIES: Final = 3


class PodChangedError(Exception):
    """The pod cannot be bound as planned; `node_name` is where it is bound instead, if it is."""

    def __init__(self, message: str, *, node_name: str = "") -> None:
        """Take what became of it."""
        super().__init__(message)
        self.node_name = node_name


def bind(writer: Writer, pod: PodToBind) -> None:
    """Bind the pod. A pod is bound once and never to another node, so this can be tried again.

    A pod that has changed since it was planned with is bound all the same, unless claims were
    taken back from it.

    Raises:
        PodChangedError: it is gone, being deleted, bound to another node, or disowned.
        TurnOverError: the lease is lost.
        ApiError: the server refused or failed.

    """
    version = pod.resource_version
    for attempt in range(1, TRIES + 1):
        writer.before(WritePoint.BINDING)
        try:
            writer.client.bind_pod(
                pod.namespace,
                pod.name,
                node_name=pod.node_name,
                uid=pod.uid,
                resource_version=version,
            )
        except NotFoundError:
            raise PodChangedError(f"pod {pod} got deleted in the meantime") from None
        except ApiError as error:
            if is_certain(error) and not isinstance(error, ConflictError):
                raise
            live = unbound(writer.client, pod)
            if live is not None:
                if disowned_at(live) != pod.disowned_at:
                    raise PodChangedError(f"pod {pod} lost claims in the meantime") from None
                if attempt == TRIES:
                    raise
                version = version and _version(live)
                continue
        points.after(WritePoint.BINDING)
        return


def disown(writer: Writer, pod: PodToBind, message: str) -> bool:
    """Make sure that nobody binds the pod as it was planned with before; tell whether it is.

    Comes before claims are taken back that the pod has had since an earlier try: the binding of
    that try may still be on its way. It names the pod's version, and fails from here on.

    Raises:
        PodChangedError: it is gone, being deleted, or bound.
        TurnOverError: the lease is lost.
        ApiError: the server refused or failed.

    """
    for _ in range(TRIES):
        live = unbound(writer.client, pod)
        if live is None:
            return False
        now = datetime.now(UTC)
        if disowned_at(live) == seconds_text(now):
            now += timedelta(seconds=1)
        patch: JsonObject = {
            "metadata": {"resourceVersion": _version(live)},
            "status": {"conditions": unschedulable(live, message, disowned=now)},
        }
        writer.before(WritePoint.DISOWNING)
        try:
            writer.client.merge_patch(
                PODS, pod.name, patch, namespace=pod.namespace, subresource="status"
            )
        except ConflictError:
            # Its condition, say, was written just now, by the background of ours.
            continue
        points.after(WritePoint.DISOWNING)
        return True
    return False


def unbound(client: Client, pod: PodToBind) -> JsonObject | None:
    """Return the pod if it waits for a node; None: it is bound as planned.

    Raises:
        PodChangedError: it is gone, being deleted, or bound to another node.
        ApiError: the server did not say.

    """
    try:
        live = client.get(PODS, pod.name, namespace=pod.namespace)
    except NotFoundError:
        raise PodChangedError(f"pod {pod} got deleted in the meantime") from None
    metadata = object_of(live.get("metadata"))
    node_name = str(object_of(live.get("spec")).get("nodeName") or "")
    if metadata.get("uid") != pod.uid:
        raise PodChangedError(f"pod {pod} got deleted in the meantime")
    if node_name and node_name != pod.node_name:
        raise PodChangedError(
            f"pod {pod} got bound to node {node_name} in the meantime", node_name=node_name
        )
    if metadata.get("deletionTimestamp") and not node_name:
        raise PodChangedError(f"pod {pod} is being deleted")
    return None if node_name else live


def _version(pod: JsonObject) -> str:
    return str(object_of(pod.get("metadata")).get("resourceVersion", ""))
