"""The reason that the cluster gave for a pod that waits, beside ours.

Pure: a pod and its events as the API server has them. kube-scheduler writes one sentence into the
condition `PodScheduled` and into `FailedScheduling` events: `0/5 nodes are available:`, then how
many nodes each reason holds for, then what preemption would do. For devices there is one reason
only, `cannot allocate all claims`, which does not say why: that is what attempts are for. So
both can agree on what stops the pod, devices or the nodes themselves, and on nothing finer.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.explanation.unfolding import objects
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.models import Outcome
from dra_console.scheduling.names import SCHEDULER_NAME

NO_NODE: Final = re.compile(r"0/\d+ nodes are available: ?(.*)", re.DOTALL)
COUNTED: Final = re.compile(r"(\d+) ((?:(?!, \d+ ).)+?)(?=, \d+ |\.(?:\s|$)|$)", re.DOTALL)

DEVICE_REASONS: Final = ("cannot allocate all claims", "resourceclaim not available on the node")
NODE_REASONS: Final = (
    "Insufficient ",
    "Too many pods",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) had taints that the pod didn't tolerate",
    "node(s) had untolerated taint",
    "node(s) had unknown conditions",
    "node(s) were unschedulable",
)
"""Beginnings of what this console looks at as well."""

FAILED: Final = "FailedScheduling"
GATED: Final = "SchedulingGated"


class Stop(StrEnum):
    """What a reason says stands in the way."""

    DEVICES = "devices"
    NODES = "nodes"
    OTHER = "other"


class Agreement(StrEnum):
    """Whether the cluster's reason is ours."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of the cluster, and when it was said, as the API writes times."""

    reason: str
    message: str
    since: str
    """Empty: not told."""

    source: str
    """Who said it; empty: not told."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class ClusterReason:
    """What a pod's object says of why it waits."""

    scheduler_name: str
    condition: Said | None
    """`PodScheduled` that is False; None: nobody has tried, or it is scheduled."""

    nominated_node_name: str
    """Node on which room is being made for it (preemption); empty: none."""


def cluster_reason_of(pod: JsonObject) -> ClusterReason:
    """Read what a pod says of its own scheduling."""
    spec, status = object_of(pod.get("spec")), object_of(pod.get("status"))
    condition = next(
        (
            Said(
                _text(each.get("reason")),
                _text(each.get("message")),
                _text(each.get("lastTransitionTime")),
                source="",
            )
            for each in objects_of(status.get("conditions"))
            if each.get("type") == "PodScheduled" and each.get("status") == "False"
        ),
        None,
    )
    return ClusterReason(
        scheduler_name=_text(spec.get("schedulerName")),
        condition=condition,
        nominated_node_name=_text(status.get("nominatedNodeName")),
    )


def failures_in(events: Iterable[JsonObject]) -> tuple[Said, ...]:
    """List the events that tell of failed scheduling, newest first."""
    said = [
        Said(
            reason=FAILED,
            message=_text(event.get("message") or event.get("note")),
            since=_last_seen(event),
            source=_source(event),
            times=_times(event),
        )
        for event in events
        if event.get("reason") == FAILED
    ]
    return tuple(sorted(said, key=lambda each: each.since, reverse=True))


def agreement_on(
    said: Said | None, *, scheduler_name: str, outcome: str, explanation: JsonObject
) -> Agreement:
    """Tell whether a sentence of the cluster gives the reason that an attempt gives.

    Unknown wherever that takes more than both say: nothing was said, it was said by this console,
    the sentence has another form, or both reasons stand beside others.
    """
    if said is None or scheduler_name == SCHEDULER_NAME:
        return Agreement.UNKNOWN
    if outcome == Outcome.WAITS:
        is_gated = said.reason == GATED and "scheduling gates" in _text(explanation.get("headline"))
        return Agreement.SAME if is_gated else Agreement.UNKNOWN
    theirs = stops_in(said.message)
    if outcome == Outcome.FITS and theirs:
        return Agreement.DIFFERENT
    if outcome != Outcome.DOES_NOT_FIT:
        return Agreement.UNKNOWN
    return _agreement(stops_of(explanation), theirs)


def stops_in(message: str) -> frozenset[Stop]:
    """Say what stands in the way by kube-scheduler's sentence; empty for another sentence."""
    found = NO_NODE.match(message)
    if found is None:
        return frozenset()
    # What follows the first full stop is about preemption, which counts nodes once more.
    counted, _, _ = f"{found[1]} ".partition(". ")
    return frozenset(_stop(reason) for _, reason in COUNTED.findall(counted))


def stops_of(explanation: JsonObject) -> frozenset[Stop]:
    """Say what stands in the way by an explanation; empty where it lists no node."""
    reasons = {_text(group.get("reason")) for group in objects(explanation.get("groups"))}
    return frozenset(
        Stop.NODES if reason == "node-filter" else Stop.DEVICES
        for reason in reasons
        if reason != "fits"
    )


def _agreement(ours: frozenset[Stop], theirs: frozenset[Stop]) -> Agreement:
    if Stop.DEVICES in ours & theirs or ours == theirs == {Stop.NODES}:
        return Agreement.SAME
    is_told = len(ours) == len(theirs) == 1 and Stop.OTHER not in theirs
    return Agreement.DIFFERENT if is_told else Agreement.UNKNOWN


def _stop(reason: str) -> Stop:
    if reason.startswith(DEVICE_REASONS):
        return Stop.DEVICES
    return Stop.NODES if reason.startswith(NODE_REASONS) else Stop.OTHER


def _last_seen(event: JsonObject) -> str:
    """Take the newest of an event's times; which of them is set depends on who wrote it."""
    series = object_of(event.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
    )
    return next((_text(each) for each in times if each), "")


def _times(event: JsonObject) -> int:
    count = object_of(event.get("series")).get("count") or event.get("count")
    return count if isinstance(count, int) and count > 0 else 1


def _source(event: JsonObject) -> str:
    return _text(event.get("reportingComponent") or object_of(event.get("source")).get("component"))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
