"""What the cluster said of a waiting pod, and when that is the reason that we give."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.attempts.cluster_reason import (
    Agreement,
    Said,
    Stop,
    agreement_on,
    cluster_reason_of,
    failures_in,
    stops_in,
)

KUBE_SCHEDULER = "default-scheduler"
NO_DEVICES = "0/3 nodes are available: 3 cannot allocate all claims."
TAINTED_AND_FULL = (
    "0/5 nodes are available: 1 node(s) had untolerated taint"
    " {node-role.kubernetes.io/control-plane: }, 1 Insufficient nvidia.com/gpu, 3 cannot allocate"
    " all claims. no new claims to deallocate, preemption: 0/5 nodes are available: 5 Preemption"
    " is not helpful for scheduling."
)
CORDONED = "0/2 nodes are available: 2 node(s) were unschedulable. preemption: 0/2 nodes"
NO_ROOM_ON_DISK = "0/2 nodes are available: 2 node(s) exceed max volume count."


def said(message: str, reason: str = "Unschedulable") -> Said:
    return Said(reason, message, "2026-11-30T05:00:00Z", source="")


def explained(*reasons: str) -> JsonObject:
    groups: list[Json] = [{"names": ["gpu-01"], "reason": reason} for reason in reasons]
    return {"headline": "", "groups": groups}


@pytest.mark.parametrize(
    ("message", "stops"),
    [
        (NO_DEVICES, {Stop.DEVICES}),
        (TAINTED_AND_FULL, {Stop.NODES, Stop.DEVICES}),
        (CORDONED, {Stop.NODES}),
        (NO_ROOM_ON_DISK, {Stop.OTHER}),
        ("running PreBind plugin failed", set()),
        ("0/3 nodes are available: waiting for something. preemption: none", set()),
        ("", set()),
    ],
)
def test_a_sentence_of_kube_scheduler_names_what_stands_in_the_way(
    message: str, stops: set[Stop]
) -> None:
    assert stops_in(message) == stops


@pytest.mark.parametrize(
    ("message", "outcome", "reasons", "agreement"),
    [
        (NO_DEVICES, "does-not-fit", ["count"], Agreement.SAME),
        (TAINTED_AND_FULL, "does-not-fit", ["taken"], Agreement.SAME),
        (CORDONED, "does-not-fit", ["node-filter"], Agreement.SAME),
        (CORDONED, "does-not-fit", ["taken"], Agreement.DIFFERENT),
        (NO_DEVICES, "does-not-fit", ["node-filter"], Agreement.DIFFERENT),
        (NO_DEVICES, "fits", ["fits"], Agreement.DIFFERENT),
        (CORDONED, "does-not-fit", ["taken", "node-filter"], Agreement.UNKNOWN),
        (NO_ROOM_ON_DISK, "does-not-fit", ["taken"], Agreement.UNKNOWN),
        (NO_DEVICES, "broken", ["selector-error"], Agreement.UNKNOWN),
        ("something else", "does-not-fit", ["taken"], Agreement.UNKNOWN),
        ("something else", "fits", ["fits"], Agreement.UNKNOWN),
    ],
)
def test_both_agree_or_not_only_where_that_can_be_told(
    message: str, outcome: str, reasons: list[str], agreement: Agreement
) -> None:
    found = agreement_on(
        said(message),
        scheduler_name=KUBE_SCHEDULER,
        outcome=outcome,
        explanation=explained(*reasons),
    )

    assert found is agreement


def test_what_this_console_wrote_itself_is_no_second_opinion() -> None:
    for words, scheduler in ((None, KUBE_SCHEDULER), (said(NO_DEVICES), "dra-console")):
        found = agreement_on(
            words, scheduler_name=scheduler, outcome="does-not-fit", explanation=explained("taken")
        )
        assert found is Agreement.UNKNOWN


def test_a_pod_tells_its_scheduler_condition_and_nominated_node() -> None:
    reason = cluster_reason_of(
        {
            "spec": {"schedulerName": "volcano"},
            "status": {
                "nominatedNodeName": "gpu-07",
                "conditions": [
                    {"type": "Ready", "status": "False"},
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": NO_DEVICES,
                        "lastTransitionTime": "2026-11-30T05:00:00Z",
                    },
                ],
            },
        }
    )

    assert (reason.scheduler_name, reason.nominated_node_name) == ("volcano", "gpu-07")
    assert reason.condition == said(NO_DEVICES)


@pytest.mark.parametrize("odd", [{}, {"spec": None, "status": {"conditions": "none"}}])
def test_a_pod_that_tells_nothing_has_no_condition(odd: JsonObject) -> None:
    assert cluster_reason_of(odd).condition is None


def test_failures_are_listed_newest_first_whoever_wrote_the_event() -> None:
    old: JsonObject = {
        "reason": "FailedScheduling",
        "message": "old",
        "lastTimestamp": "2026-11-30T05:00:00Z",
        "source": {"component": "dra-console"},
        "count": 3,
    }
    series: JsonObject = {
        "reason": "FailedScheduling",
        "message": "new",
        "eventTime": "2026-11-30T04:00:00.000000Z",
        "reportingComponent": "default-scheduler",
        "series": {"count": 7, "lastObservedTime": "2026-11-30T05:10:00.000000Z"},
    }

    found = failures_in([old, {"reason": "Scheduled"}, series])

    assert [(each.message, each.source, each.times) for each in found] == [
        ("new", "default-scheduler", 7),
        ("old", "dra-console", 3),
    ]
