"""The answer to "why is my claim not allocated", as a value.

It stays folded: nodes of which the same is to be said, device by device, are one group.
`nodes` and `verdicts` unfold it into one row a node and one row a device, `to_json` writes
it folded (see `folding`).

Invariant: the funnel's nine verdicts add up to the devices considered, and the devices
under the groups are exactly those, each once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.folding import groups_json, holders_json, split
from dra_console.allocator.explanation.groups import NodeDevices, NodeGroup
from dra_console.allocator.explanation.verdicts import DeviceVerdict, Verdict, counts_of
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.world.usage import Usage


class ExplainedOutcome(StrEnum):
    """How the try ended."""

    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    BROKEN = "broken"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class NodeAccount:
    """What became of one node: a row of the explanation, unfolded from its group."""

    name: str
    reason: str
    summary: str
    devices: tuple[DeviceVerdict, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change that was tried and makes the claims fit.

    `holder` is the claim to wait for, if waiting is the change; the text does not name it.
    `patches` are the other changes as JSON patches (RFC 6902) of claims in the shape of
    `resource.k8s.io/v1`, by `namespace/name`.
    """

    text: str
    detail: str
    holder: ResourceClaim | None = None
    patches: Mapping[str, tuple[JsonObject, ...]] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        holder: Json = None
        if self.holder is not None:
            holder = {
                "namespace": self.holder.namespace,
                "name": self.holder.name,
                "uid": self.holder.uid,
            }
        return {
            "text": self.text,
            "detail": self.detail,
            "holder": holder,
            "patches": {claim: [*patch] for claim, patch in self.patches.items()},
        }


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A device that the claims get, or have."""

    claim: str
    request: str
    device_id: DeviceId

    def to_json(self) -> JsonObject:
        return {
            "claim": self.claim,
            "request": self.request,
            "driver": self.device_id.driver,
            "pool": self.device_id.pool,
            "device": self.device_id.device,
        }


@dataclass(frozen=True, slots=True)
class Together:
    """The last step of the funnel: what is free does not fit together on any node.

    `free` counts the devices that pass every step before. `reason` is the one of the node
    that came closest, `evidence` says what is missing there, `limit` in a few words.
    """

    free: int
    node: str
    reason: str
    evidence: str
    limit: str

    def to_json(self) -> JsonObject:
        return {
            "free": self.free,
            "fit": 0,
            "node": self.node,
            "reason": self.reason,
            "evidence": self.evidence,
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod's claims fit or do not, over all nodes; groups that came closest first."""

    outcome: ExplainedOutcome
    headline: str
    detail: str
    node: str | None
    groups: tuple[NodeGroup, ...]
    usage: Usage = field(default_factory=lambda: Usage({}, {}, {}))
    """Who holds what."""

    together: Together | None = None
    suggestions: tuple[Suggestion, ...] = ()
    chosen: tuple[ChosenDevice, ...] = ()
    steps: int = 0

    @property
    def funnel(self) -> Mapping[Verdict, int]:
        """Devices by verdict; every verdict is present, in the order of the steps."""
        return counts_of(counted for group in self.groups for counted in group.counts.items())

    @property
    def nodes(self) -> tuple[NodeAccount, ...]:
        """One row for each node, with one for each of its devices."""
        return tuple(
            NodeAccount(
                name=node.name,
                reason=group.reason,
                summary=group.summary,
                devices=tuple(self._rows(group, node)),
            )
            for group in self.groups
            for node in group.nodes
        )

    @property
    def verdicts(self) -> tuple[DeviceVerdict, ...]:
        """One row for each device, node by node."""
        return tuple(
            row for group in self.groups for node in group.nodes for row in self._rows(group, node)
        )

    def holder_of(self, device_id: DeviceId) -> ResourceClaim | None:
        """Return a claim that has the device, the first one of those that share it."""
        holder = self.usage.holders.get(device_id)
        if holder is not None:
            return holder
        return next(iter(self.usage.sharers.get(device_id, ())), None)

    def to_json(self, *, most_devices: int | None = None) -> JsonObject:
        """Write the folded shape; `most_devices` bounds the devices that are listed by name."""
        counts = {verdict.value: count for verdict, count in self.funnel.items()}
        listed, _ = split(self.groups, most_devices)
        return {
            "outcome": self.outcome.value,
            "headline": self.headline,
            "detail": self.detail,
            "node": self.node,
            "funnel": {"considered": sum(counts.values()), **counts},
            "together": self.together.to_json() if self.together else None,
            "groups": groups_json(self.groups, most_devices=most_devices),
            "holders": holders_json(listed, self.holder_of, most_devices=most_devices),
            "suggestions": [suggestion.to_json() for suggestion in self.suggestions],
            "chosen": [each.to_json() for each in self.chosen],
            "steps": self.steps,
        }

    def _rows(self, group: NodeGroup, node: NodeDevices) -> Iterator[DeviceVerdict]:
        for published, judgement in zip(node.devices, group.judgements, strict=True):
            is_taken = judgement.verdict is Verdict.TAKEN
            holder = self.holder_of(published.id) if is_taken else None
            yield DeviceVerdict(published, judgement, holder)
