"""The pod's own word on why it has no node: condition `PodScheduled`, as kube-scheduler sets it.

`kubectl describe` shows it, and cluster autoscalers act on it.
"""

import structlog

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS
from dra_console.scheduling.writing import refusals
from dra_console.scheduling.writing.pod_status import unschedulable
from dra_console.scheduling.writing.remarks import Regarding

log = structlog.get_logger()


def mark_unschedulable(client: Client, pod: Regarding, message: str) -> None:
    """Write on a waiting pod why it was not placed, unless it says so already."""
    try:
        live = client.get(PODS, pod.name, namespace=pod.namespace)
        metadata = object_of(live.get("metadata"))
        if metadata.get("uid") != pod.uid or object_of(live.get("spec")).get("nodeName"):
            return
        conditions = unschedulable(live, message)
        if conditions is None:
            return
        patch: JsonObject = {
            "metadata": {"resourceVersion": metadata.get("resourceVersion")},
            "status": {"conditions": conditions},
        }
        client.merge_patch(PODS, pod.name, patch, namespace=pod.namespace, subresource="status")
    except (ConflictError, NotFoundError):
        # It is gone, or changed and looked at again soon.
        return
    except ApiError as error:
        log.warning(
            "condition not written",
            pod=f"{pod.namespace}/{pod.name}",
            error=refusals.in_words(error),
        )
