"""What is to be written for one pod, or for one claim that is reserved ahead."""

from collections.abc import Sequence
from dataclasses import dataclass

from dra_console.allocator.model import JsonObject


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

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Claims to allocate and reserve, and the pod to bind after that.

    Without a pod the claims are reserved ahead: allocated, and reserved for nobody.
    """

    claims: Sequence[PlannedClaim]
    pod: PodToBind | None
