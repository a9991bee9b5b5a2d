"""Bind a pod to its node, and find out what became of a binding whose answer was lost."""

from typing import Final

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS
from dra_console.scheduling.writing import points
from dra_console.scheduling.writing.plan import PodToBind
from dra_console.scheduling.writing.points import WritePoint
from dra_console.scheduling.writing.sending import Writer, is_certain

TRIES: Final = 2


class PodChangedError(Exception):
    """The pod cannot be bound as planned; `node_name` is where it is bound instead, if it is."""

    def __init__(self, message: str, *, node_name: str = "") -> None:
        """Take what became of it."""
        super().__init__(message)
        self.node_name = node_name


def bind(writer: Writer, pod: PodToBind) -> None:
    """Bind the pod. A pod is bound once and never to another node, so this can be tried again.

    Raises:
        PodChangedError: it is gone, being deleted, or bound to another node.
        TurnOverError: the lease is lost.
        ApiError: the server refused or failed.

    """
    for attempt in range(1, TRIES + 1):
        writer.before(WritePoint.BINDING)
        try:
            writer.client.bind_pod(pod.namespace, pod.name, node_name=pod.node_name, uid=pod.uid)
        except NotFoundError:
            raise PodChangedError(f"pod {pod} got deleted in the meantime") from None
        except ApiError as error:
            if is_certain(error) and not isinstance(error, ConflictError):
                raise
            if is_unbound(writer.client, pod):
                if attempt == TRIES:
                    raise
                continue
        points.after(WritePoint.BINDING)
        return


def is_unbound(client: Client, pod: PodToBind) -> bool:
    """Ask the API server whether the pod waits for a node; False: it is bound as planned.

    Raises:
        PodChangedError: it is gone, being deleted, or bound to another node.
        ApiError: the server did not say.

    """
    try:
        live = client.get(PODS, pod.name, namespace=pod.namespace)
    except NotFoundError:
        raise PodChangedError(f"pod {pod} got deleted in the meantime") from None
    metadata = object_of(live.get("metadata"))
    node_name = _node_name(live)
    if metadata.get("uid") != pod.uid:
        raise PodChangedError(f"pod {pod} got deleted in the meantime")
    if node_name and node_name != pod.node_name:
        raise PodChangedError(
            f"pod {pod} got bound to node {node_name} in the meantime", node_name=node_name
        )
    if metadata.get("deletionTimestamp") and not node_name:
        raise PodChangedError(f"pod {pod} is being deleted")
    return not node_name


def _node_name(pod: JsonObject) -> str:
    return str(object_of(pod.get("spec")).get("nodeName") or "")
