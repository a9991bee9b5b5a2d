from datetime import timedelta

from dra_console.mirror.inventory import State
from dra_console.mirror.models import ClaimState, Node, ResourceClaim
from dra_console.web.presenters.care import (
    claim_concerns,
    device_concerns,
    node_concerns,
    summary_of,
)
from dra_console.web.presenters.overview import free_in_words, idle_of, model_lines
from dra_console.web.presenters.tiles import Look
from dra_console.web.presenters.waiting import PendingClaim, waiting_groups
from tests.unit.web.states import (
    EVERYBODY,
    NOW,
    a_holder,
    a_reading,
    a_state,
    a_taint,
    an_agent,
    live_state,
)


def test_models_are_counted_with_the_node_that_has_most_of_them_free() -> None:
    states = [
        a_state("gpu-0", node="gpu-01", holders=(a_holder(),)),
        a_state("gpu-1", node="gpu-01"),
        a_state("gpu-0", node="gpu-02"),
        a_state("gpu-1", node="gpu-02"),
        a_state("gpu-0", node="l4-01", product="NVIDIA L4", memory_gibibytes=22),
    ]

    lines = model_lines(states, reader=EVERYBODY)

    assert [(line.model, line.free, line.total, line.note) for line in lines] == [
        ("H100 80 GB", 3, 4, "most on gpu-02: 2"),
        ("L4 24 GB", 1, 1, "1 on l4-01"),
    ]
    assert free_in_words(lines) == "3 H100 80 GB · 1 L4 24 GB"


def test_partitions_are_counted_as_parts() -> None:
    part = a_state("gpu-0-mig-1g5gb-19-0", parent="gpu-0", memory_gibibytes=5)

    [line] = model_lines([part], reader=EVERYBODY)

    assert (line.model, line.noun) == ("H100", "parts")


def test_idle_is_held_below_five_per_cent_now_and_unknown_is_not_idle() -> None:
    held = [a_state(f"gpu-{number}", holders=(a_holder(),)) for number in range(4)]
    live = live_state(
        an_agent(),
        gpu_0=a_reading(utilisation_percent=4),
        gpu_1=a_reading(utilisation_percent=5),
        gpu_2=a_reading(utilisation_percent=0, age_seconds=60),
    )

    idle = idle_of(held, live=live)

    assert (idle.devices, idle.busy, idle.unknown) == (1, 1, 2)
    assert str(idle) == "≥ 1"


def test_idleness_is_unknown_when_no_held_device_reports() -> None:
    idle = idle_of([a_state(holders=(a_holder(),))], live=live_state())

    assert str(idle) == "?"


def a_pending(name: str, *, minutes: int, namespace: str = "team-research") -> PendingClaim:
    return PendingClaim(f"uid-{name}", namespace, name, NOW - timedelta(minutes=minutes))


def test_claims_that_wait_for_the_same_reason_are_one_group() -> None:
    claims = [
        a_pending("a", minutes=5),
        a_pending("b", minutes=14),
        a_pending("c", minutes=90, namespace="team-vision"),
        a_pending("d", minutes=1),
    ]
    headlines = {"uid-a": "All taken.", "uid-b": "All taken.", "uid-c": "No such device."}

    groups = waiting_groups(claims, headlines=headlines)

    assert [(group.reason, len(group.claims), group.oldest.name) for group in groups] == [
        ("All taken.", 2, "b"),
        ("No such device.", 1, "c"),
        ("Not tried yet", 1, "d"),
    ]


def test_sick_devices_come_before_those_that_a_rule_taints() -> None:
    states = [
        a_state("gpu-0", state=State.TAINTED, taints=(a_taint("maintenance", rule="drain"),)),
        a_state("gpu-1", state=State.TAINTED, taints=(a_taint(),)),
        a_state("gpu-2", taints=(a_taint(effect="None"),)),
    ]

    concerns = device_concerns(states, now=NOW)

    assert [(concern.look, concern.sign) for concern in concerns] == [
        (Look.SICK, "XID 79"),
        (Look.WARN, "maintenance"),
    ]


def test_node_that_is_not_ready_and_one_whose_agent_is_silent_need_care() -> None:
    states = [a_state(node="a"), a_state(node="b"), a_state(node="c")]
    nodes = {name: Node(name=name, ready=name != "a") for name in "abc"}
    live = live_state(an_agent("a"), an_agent("b", age_seconds=41))

    concerns = node_concerns(states, nodes=nodes, live=live)

    assert [concern.headline for concern in concerns] == [
        "a is not ready",
        "agent on b silent for 41 s",
        "no agent heard on c",
    ]
    assert summary_of(concerns) == "1 node · 1 stale · 1 no agent"


def test_silence_is_no_concern_while_the_store_is_unreachable() -> None:
    nodes = {"a": Node(name="a", ready=True)}

    assert not node_concerns([a_state(node="a")], nodes=nodes, live=live_state(is_reachable=False))


def a_claim_row(name: str, state: ClaimState, **fields: object) -> ResourceClaim:
    return ResourceClaim(namespace="team-vision", name=name, state=state, **fields)


def test_allocation_without_a_pod_for_an_hour_is_a_leak() -> None:
    claims = [
        a_claim_row("fresh", ClaimState.ALLOCATED, allocated_at=NOW - timedelta(minutes=5)),
        a_claim_row("old", ClaimState.ALLOCATED, allocated_at=NOW - timedelta(hours=6)),
        a_claim_row("used", ClaimState.RESERVED, allocated_at=NOW - timedelta(hours=6)),
    ]

    concerns = claim_concerns(claims, now=NOW)

    assert [(concern.sign, concern.headline) for concern in concerns] == [
        ("leak", "team-vision/old: allocated, no pod for 6 h")
    ]


def test_deletion_that_does_not_end_is_stuck() -> None:
    claim = a_claim_row(
        "going", ClaimState.DELETING, deletion_requested_at=NOW - timedelta(minutes=30)
    )

    [concern] = claim_concerns([claim], now=NOW)

    assert (concern.sign, concern.headline) == (
        "stuck",
        "team-vision/going: being deleted for 30 min",
    )
