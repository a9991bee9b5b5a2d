"""The answer to "why is my claim not allocated", as a value and as JSON.

Invariant: the funnel's nine verdicts add up to the devices considered, and the devices
listed under the nodes are exactly those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.verdicts import DeviceVerdict, count_verdicts
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim


class ExplainedOutcome(StrEnum):
    """How the try ended."""

    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    BROKEN = "broken"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """What became of one node. An empty name stands for devices that no single node owns.

    `reason` is a verdict, or one of `fits`, `not-tried` (another node was taken first),
    `count` (some, but too few devices are free) and `budget`.
    """

    name: str
    reason: str
    summary: str
    devices: tuple[DeviceVerdict, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change that was tried and makes the claims fit.

    `holder` is the claim to wait for, if waiting is the change; the text does not name it.
    """

    text: str
    detail: str
    holder: ResourceClaim | None = None

    def to_json(self) -> JsonObject:
        return {"text": self.text, "detail": self.detail, "holder": _claim_json(self.holder)}


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A device that the claims get, or have."""

    claim: str
    request: str
    device_id: DeviceId


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod's claims fit or do not, over all nodes."""

    outcome: ExplainedOutcome
    headline: str
    detail: str
    node: str | None
    nodes: tuple[NodeAccount, ...]
    suggestions: tuple[Suggestion, ...] = ()
    chosen: tuple[ChosenDevice, ...] = ()
    steps: int = 0

    @property
    def verdicts(self) -> Sequence[DeviceVerdict]:
        """All device verdicts, node by node."""
        return [verdict for node in self.nodes for verdict in node.devices]

    def to_json(self) -> JsonObject:
        """Write the shape that the API, the pages and `Attempt.explanation` share."""
        counts = count_verdicts(self.verdicts)
        funnel: JsonObject = {"considered": len(self.verdicts)}
        funnel.update({verdict.value: count for verdict, count in counts.items()})
        requests = {chosen.device_id: chosen.request for chosen in self.chosen}
        return {
            "outcome": self.outcome.value,
            "headline": self.headline,
            "detail": self.detail,
            "node": self.node,
            "funnel": funnel,
            "nodes": [
                {
                    "name": node.name,
                    "reason": node.reason,
                    "summary": node.summary,
                    "devices": [_verdict_json(each, requests) for each in node.devices],
                }
                for node in self.nodes
            ],
            "suggestions": [suggestion.to_json() for suggestion in self.suggestions],
            "chosen": [
                {"claim": each.claim, "request": each.request, **_device_json(each.device_id)}
                for each in self.chosen
            ],
            "steps": self.steps,
        }


def _verdict_json(verdict: DeviceVerdict, requests: dict[DeviceId, str]) -> JsonObject:
    chosen_for = requests.get(verdict.device_id)
    return {
        **_device_json(verdict.device_id),
        "verdict": verdict.verdict.value,
        "evidence": verdict.evidence if chosen_for is None else f"chosen for request {chosen_for}",
        "holder": _claim_json(verdict.holder),
        "request": chosen_for or (verdict.want.label if verdict.want else None),
    }


def _device_json(device_id: DeviceId) -> JsonObject:
    return {"driver": device_id.driver, "pool": device_id.pool, "device": device_id.device}


def _claim_json(claim: ResourceClaim | None) -> Json:
    if claim is None:
        return None
    return {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
