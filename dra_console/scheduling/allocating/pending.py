"""Claims and pods that wait for the console, as small as they can be kept between rounds.

A claim or pod is kept as the JSON that the API server sent, since it is written back whole;
beside it stands what the queue asks for.
"""

from dataclasses import dataclass
from typing import Final

import orjson

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.names import (
    PRIORITY_ANNOTATION,
    RESERVE_AHEAD_LABEL,
    SCHEDULER_NAME,
)

FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Pending:
    """One object that waits: a claim without devices, or a pod without a node."""

    key: str
    """`namespace/name`."""

    uid: str
    resource_version: str
    priority: int
    created_at: str
    """RFC 3339, which sorts as times do."""

    published: bytes
    """The object as JSON."""

    @property
    def raw(self) -> JsonObject:
        """The object as the API server sent it."""
        raw: JsonObject = orjson.loads(self.published)
        return raw

    @property
    def order(self) -> tuple[int, str, str]:
        """Who comes first: higher priority, then older, then by name."""
        return -self.priority, self.created_at, self.key


def pending_claim(claim: JsonObject) -> Pending | None:
    """Keep a claim that can be allocated; `None` for one that is, or that is to go."""
    metadata = object_of(claim.get("metadata"))
    if metadata.get("deletionTimestamp") or object_of(claim.get("status")).get("allocation"):
        return None
    annotation = object_of(metadata.get("annotations")).get(PRIORITY_ANNOTATION)
    return _pending(claim, priority=_whole(annotation))


def is_reserved_ahead(claim: JsonObject) -> bool:
    """Tell whether a claim is to be allocated before any pod uses it."""
    labels = object_of(object_of(claim.get("metadata")).get("labels"))
    return labels.get(RESERVE_AHEAD_LABEL) == "true"


def pending_pod(pod: JsonObject) -> Pending | None:
    """Keep a pod that waits for the console to bind it; `None` for any other.

    Those with scheduling gates are others: the API server would not let them be bound.
    """
    metadata, spec = object_of(pod.get("metadata")), object_of(pod.get("spec"))
    if (
        spec.get("schedulerName") != SCHEDULER_NAME
        or spec.get("nodeName")
        or spec.get("schedulingGates")
        or metadata.get("deletionTimestamp")
        or object_of(pod.get("status")).get("phase") in FINISHED
    ):
        return None
    return _pending(pod, priority=_whole(spec.get("priority")))


def key_in(subject: JsonObject) -> str:
    """Return the key of an object of a namespace."""
    metadata = object_of(subject.get("metadata"))
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def _pending(subject: JsonObject, *, priority: int) -> Pending:
    metadata = object_of(subject.get("metadata"))
    return Pending(
        key=key_in(subject),
        uid=str(metadata.get("uid", "")),
        resource_version=str(metadata.get("resourceVersion", "")),
        priority=priority,
        created_at=str(metadata.get("creationTimestamp") or ""),
        published=orjson.dumps(subject),
    )


def _whole(value: object) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return 0
    return value if isinstance(value, int) else 0
