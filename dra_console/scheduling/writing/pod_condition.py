"""The pod's own word on why it has no node: condition `PodScheduled`, as kube-scheduler sets it.

`kubectl describe` shows it, and cluster autoscalers act on it.
"""

from datetime import UTC, datetime
from typing import Final

import structlog

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import PODS
from dra_console.scheduling.writing import refusals
from dra_console.scheduling.writing.remarks import Regarding
from dra_console.scheduling.writing.times import seconds_text

log = structlog.get_logger()

POD_SCHEDULED: Final = "PodScheduled"


def mark_unschedulable(client: Client, pod: Regarding, message: str) -> None:
    """Write on a waiting pod why it was not placed, unless it says so already."""
    try:
        live = client.get(PODS, pod.name, namespace=pod.namespace)
        metadata = object_of(live.get("metadata"))
        if metadata.get("uid") != pod.uid or object_of(live.get("spec")).get("nodeName"):
            return
        conditions = _with_reason(live, message)
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


def _with_reason(pod: JsonObject, message: str) -> list[Json] | None:
    """Return the pod's conditions with this one; None: they say so already."""
    before = objects_of(object_of(pod.get("status")).get("conditions"))
    said = next((each for each in before if each.get("type") == POD_SCHEDULED), {})
    says = {"status": "False", "reason": "Unschedulable", "message": message}
    if all(said.get(key) == value for key, value in says.items()):
        return None
    since = said.get("lastTransitionTime") if said.get("status") == "False" else None
    condition: JsonObject = {
        "type": POD_SCHEDULED,
        "lastProbeTime": None,
        "lastTransitionTime": since or seconds_text(datetime.now(UTC)),
        **says,
    }
    return [*(each for each in before if each.get("type") != POD_SCHEDULED), condition]
