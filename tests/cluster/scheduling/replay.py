"""What kube-scheduler decided, asked again of our allocator in the world as it was then."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of
from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.explanation.explanation import ExplainedOutcome, Explanation
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import carry_index, index_of
from tests.oracle.comparison import differences

STEP_BUDGET: Final = 20_000
TIMED_OUT: Final = "timed out trying to allocate devices"
ALLOCATED, REFUSED, ERROR = "allocated", "unallocatable", "error"
EXPLAINED: Final = {
    ALLOCATED: ExplainedOutcome.FITS,
    REFUSED: ExplainedOutcome.DOES_NOT_FIT,
    ERROR: ExplainedOutcome.BROKEN,
}

NO_CLASS: Final = " does not exist"
NO_DEVICES: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"
NOT_SELECTED: Final = "node(s) didn't match Pod's node affinity/selector"
REASONS: Final = re.compile(r"(\d+) ([^,]+?)(?:, |\. |\.$|$)")


@dataclass(frozen=True, slots=True)
class Decision:
    """One pod as kube-scheduler left it, and all other claims as they were then."""

    pod: JsonObject
    claims: Sequence[JsonObject]
    """In the pod's order, with their allocations if there are any."""

    others: Sequence[JsonObject]
    outcome: str
    message: str
    """Of the pod's condition, if it was refused."""

    @property
    def name(self) -> str:
        return str(object_of(self.pod["metadata"])["name"])

    @property
    def node(self) -> str:
        return str(object_of(self.pod["spec"]).get("nodeName") or "")


class Replay:
    """Our answers, one pod after the other, on what does not change meanwhile."""

    def __init__(self, fixed: Sequence[JsonObject]) -> None:
        self._fixed = fixed
        self._labels = {
            str(object_of(each["metadata"])["name"]): object_of(
                object_of(each["metadata"]).get("labels")
            )
            for each in fixed
            if each["kind"] == "Node"
        }
        self._snapshot = decode_snapshot(list(fixed))
        self._decoded: dict[tuple[str, str], ResourceClaim] = {}

    def differences(self, decision: Decision) -> list[str] | None:
        """Name what we say differently of a pod; empty if nothing, `None` if one gave up.

        Searches are bounded, ours by steps and kube-scheduler's by time.
        """
        if TIMED_OUT in decision.message:
            return None
        snapshot = self._snapshot_of(decision.others)
        claims = [self._decode(_unallocated(each)) for each in decision.claims]
        refused = self._not_selected(decision.pod)
        found = self._on_each_node(snapshot, claims, but=refused)
        if any(isinstance(each, BudgetExhausted) for each in found.values()):
            return None
        explained = explain(
            snapshot,
            claims,
            left_out=dict.fromkeys(refused, NOT_SELECTED),
            step_budget=STEP_BUDGET,
        )
        different = []
        if NO_CLASS in decision.message:
            # kube-scheduler waits for the class; for people the claim is broken.
            return [] if explained.outcome is ExplainedOutcome.BROKEN else [explained.headline]
        if (ours := _outcome(found.values())) != decision.outcome:
            different.append(f"outcome: {ours}, kube-scheduler {decision.outcome}")
        if explained.outcome is not EXPLAINED[decision.outcome]:
            different.append(
                f"explanation: {explained.outcome.value}, kube-scheduler {decision.outcome}"
            )
        if different:
            return different
        if decision.outcome == ALLOCATED:
            return self._devices(decision, snapshot, claims, found)
        return _reasons(decision, found, refused) if decision.outcome == REFUSED else []

    def scenario(self, decision: Decision) -> JsonObject:
        """Write a pod's case as a line of `batch` (`scenarios.md`)."""
        claims = [_unallocated(each) for each in decision.claims]
        keys: list[Json] = [_key(each) for each in claims]
        objects: list[Json] = [*self._fixed, *decision.others, *claims]
        made: JsonObject = {"id": decision.name, "objects": objects, "claims": keys}
        return made | ({"node": decision.node} if decision.node else {})

    def dump(self, decision: Decision, folder: Path) -> str:
        """Write a pod's case for the command line; return how to ask."""
        claims = [_unallocated(each) for each in decision.claims]
        items: list[Json] = [*self._fixed, *decision.others, *claims]
        path = folder / f"{decision.name}.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        line = folder / f"{decision.name}.scenario"
        line.write_text(json.dumps(self.scenario(decision)) + "\n")
        words = [f"--claim {_key(each)}" for each in claims]
        words += [f"--node {decision.node}"] if decision.node else []
        return f"python -m dra_console.allocator explain {path} {' '.join(words)}"

    def _devices(
        self,
        decision: Decision,
        snapshot: Snapshot,
        claims: Sequence[ResourceClaim],
        found: Mapping[str, Outcome],
    ) -> list[str]:
        ours = found.get(decision.node)
        if not isinstance(ours, Allocated):
            return [f"node: {decision.node} does not fit: {ours}"]
        keys = [_key(each) for each in decision.claims]
        answers: list[JsonObject] = [
            {"outcome": ALLOCATED, "node": decision.node, "allocations": dict(allocations)}
            for allocations in (
                zip(keys, [each.to_json() for each in ours.results], strict=True),
                zip(keys, map(_allocation, decision.claims), strict=True),
            )
        ]
        different = differences(*answers)
        explained = explain(snapshot, claims, node_names=[decision.node], step_budget=STEP_BUDGET)
        if _chosen(explained) != (given := [_device(each) for each in _results(decision)]):
            different.append(f"explained devices: {_chosen(explained)}, kube-scheduler {given}")
        return different

    def _on_each_node(
        self, snapshot: Snapshot, claims: Sequence[ResourceClaim], *, but: set[str]
    ) -> dict[str, Outcome]:
        index = index_of(snapshot)
        return {
            node.name: first_fit(index, claims, nodes=[node], step_budget=STEP_BUDGET).outcome
            for node in snapshot.nodes
            if node.name not in but
        }

    def _snapshot_of(self, claims: Sequence[JsonObject]) -> Snapshot:
        before = self._snapshot
        self._snapshot = replace(before, claims=tuple(map(self._decode, claims)))
        carry_index(before, self._snapshot)
        return self._snapshot

    def _decode(self, claim: JsonObject) -> ResourceClaim:
        metadata = object_of(claim["metadata"])
        key = (str(metadata["uid"]), str(metadata["resourceVersion"]))
        if "allocation" not in object_of(claim.get("status")):
            return decode_claim(claim)
        if key not in self._decoded:
            self._decoded[key] = decode_claim(claim)
        return self._decoded[key]

    def _not_selected(self, pod: JsonObject) -> set[str]:
        wanted = object_of(object_of(pod["spec"]).get("nodeSelector"))
        return {
            name
            for name, labels in self._labels.items()
            if any(labels.get(key) != value for key, value in wanted.items())
        }


def _outcome(found: Iterable[Outcome]) -> str:
    """Fold the nodes' answers as a scheduling cycle does: one error ends it for the pod."""
    outcomes = list(found)
    if any(isinstance(each, BrokenInput) for each in outcomes):
        return ERROR
    if any(isinstance(each, Allocated) for each in outcomes):
        return ALLOCATED
    return REFUSED


def _reasons(decision: Decision, found: Mapping[str, Outcome], refused: set[str]) -> list[str]:
    """Compare for how many nodes each reason holds."""
    ours = Counter(
        INVALID_POOLS if isinstance(each, DoesNotFit) and each.invalid_pools else NO_DEVICES
        for each in found.values()
    )
    if refused:
        ours[NOT_SELECTED] = len(refused)
    told = decision.message.partition(": ")[2].partition(". ")[0]
    theirs = Counter({reason: int(count) for count, reason in REASONS.findall(told)})
    return [] if ours == theirs else [f"reasons: {dict(ours)}, kube-scheduler {dict(theirs)}"]


def _chosen(explained: Explanation) -> list[str]:
    return [f"{each.claim} {each.request} {each.device_id}" for each in explained.chosen]


def _device(result: tuple[str, JsonObject]) -> str:
    claim, one = result
    device = DeviceId(str(one["driver"]), str(one["pool"]), str(one["device"]))
    return f"{claim} {one['request']} {device}"


def _results(decision: Decision) -> list[tuple[str, JsonObject]]:
    return [
        (_key(claim), result)
        for claim in decision.claims
        for result in objects_of(object_of(_allocation(claim).get("devices")).get("results"))
    ]


def _allocation(claim: JsonObject) -> JsonObject:
    allocation = object_of(object_of(claim["status"])["allocation"])
    return {key: each for key, each in allocation.items() if key != "allocationTimestamp"}


def _unallocated(claim: JsonObject) -> JsonObject:
    return {key: each for key, each in claim.items() if key != "status"}


def _key(claim: JsonObject) -> str:
    metadata = object_of(claim["metadata"])
    return f"{metadata['namespace']}/{metadata['name']}"


_own: Replay | None = None


def prepare(fixed: Sequence[JsonObject]) -> None:
    """Make the replay of a process of its own."""
    global _own  # noqa: PLW0603 - a pool's process has nothing else to keep it in
    _own = Replay(fixed)


def differences_of(decision: Decision) -> list[str] | None:
    """Ask the process's replay."""
    assert _own is not None
    return _own.differences(decision)
