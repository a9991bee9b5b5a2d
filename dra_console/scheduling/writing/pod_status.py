"""What a pod's condition `PodScheduled` says and is to say, apart from sending it.

kube-scheduler leaves `lastProbeTime` empty. The console writes there when it took back claims
that the pod had reserved: whoever planned with the pod before that must not bind it any more.
"""

from datetime import UTC, datetime
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.writing.times import seconds_text

POD_SCHEDULED: Final = "PodScheduled"


def disowned_at(pod: JsonObject) -> str:
    """Return when claims of the pod were taken back last; empty: never."""
    return str(_said(pod).get("lastProbeTime") or "")


def unschedulable(
    pod: JsonObject, message: str, *, disowned: datetime | None = None
) -> list[Json] | None:
    """Return the pod's conditions with this reason for having no node; None: it is said already.

    `disowned` is the time to write if claims are taken back.
    """
    said = _said(pod)
    says: JsonObject = {
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": said.get("lastProbeTime") if disowned is None else seconds_text(disowned),
    }
    if all(said.get(key) == value for key, value in says.items()):
        return None
    since = said.get("lastTransitionTime") if said.get("status") == "False" else None
    condition: JsonObject = {
        "type": POD_SCHEDULED,
        "lastTransitionTime": since or seconds_text(datetime.now(UTC)),
        **says,
    }
    others = [each for each in _conditions(pod) if each.get("type") != POD_SCHEDULED]
    return [*others, condition]


def _said(pod: JsonObject) -> JsonObject:
    return next((each for each in _conditions(pod) if each.get("type") == POD_SCHEDULED), {})


def _conditions(pod: JsonObject) -> list[JsonObject]:
    return objects_of(object_of(pod.get("status")).get("conditions"))
