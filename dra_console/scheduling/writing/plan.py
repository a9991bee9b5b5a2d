"""What is to be written for one pod, or for one claim that is reserved ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.writing.pod_status import disowned_at


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim as it was planned with.

    `allocation` is `status.allocation` to write, or None when the claim has one already and
    at most lacks the pod's reservation.
    """

    raw: JsonObject
    allocation: JsonObject | None


@dataclass(frozen=True, slots=True)
class PodToBind:
    """A pod, and the node that was chosen for it."""

    namespace: str
    name: str
    uid: str
    node_name: str
    resource_version: str = ""
    """Of the pod as it was planned with; empty: bind it whatever has become of it."""

    disowned_at: str = ""
    """When claims of the pod were taken back last (`disowning`), as its condition says."""

    @classmethod
    def of(cls, pod: JsonObject, *, node_name: str) -> Self:
        """Name a pod as it was planned with; `node_name` is empty if no node was found."""
        metadata = object_of(pod.get("metadata"))
        return cls(
            namespace=str(metadata.get("namespace", "")),
            name=str(metadata.get("name", "")),
            uid=str(metadata.get("uid", "")),
            node_name=node_name,
            resource_version=str(metadata.get("resourceVersion", "")),
            disowned_at=disowned_at(pod),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Claims to allocate and reserve, and the pod to bind after that.

    Without a pod the claims are reserved ahead: allocated, and reserved for nobody.
    """

    claims: Sequence[PlannedClaim]
    pod: PodToBind | None
