"""Which objects wait for the console, in which order, and which claims a pod has."""

from typing import Any

import pytest

from dra_console.allocator.errors import DecodeError
from dra_console.scheduling.allocating.pending import (
    Pending,
    is_reserved_ahead,
    pending_claim,
    pending_pod,
)
from dra_console.scheduling.allocating.pod_claims import claim_names_of
from tests.builders.objects import a_claim, a_pod, an_allocated_claim


def a_pod_of(name: str, *, minute: int = 0, **spec: Any) -> Any:
    pod: Any = a_pod(name, claim="train")
    pod["metadata"]["creationTimestamp"] = f"2026-11-29T20:{minute:02}:00Z"
    pod["spec"] |= spec
    return pod


def order_of(*pods: Any) -> list[str]:
    waiting: list[Pending] = [each for pod in pods if (each := pending_pod(pod)) is not None]
    return [each.key for each in sorted(waiting, key=lambda each: each.order)]


def test_higher_priority_comes_first_then_the_older_then_the_name() -> None:
    ordered = order_of(
        a_pod_of("young", minute=5),
        a_pod_of("patient", priority=-1),
        a_pod_of("old-b", minute=1),
        a_pod_of("old-a", minute=1),
        a_pod_of("urgent", minute=9, priority=1000),
        a_pod_of("odd", minute=7, priority="high"),
    )

    assert [key.removeprefix("team-research/") for key in ordered] == [
        "urgent",
        "old-a",
        "old-b",
        "young",
        "odd",
        "patient",
    ]


def test_pods_of_others_bound_finished_gated_and_leaving_ones_do_not_wait() -> None:
    finished, leaving = a_pod_of("finished"), a_pod_of("leaving")
    finished["status"]["phase"] = "Succeeded"
    leaving["metadata"]["deletionTimestamp"] = "2026-11-29T20:00:00Z"

    assert not order_of(
        a_pod_of("foreign", schedulerName="default-scheduler"),
        a_pod_of("bound", nodeName="gpu-01"),
        a_pod_of("gated", schedulingGates=[{"name": "example.com/quota"}]),
        finished,
        leaving,
    )


def test_a_claim_waits_until_it_is_allocated_or_leaves() -> None:
    leaving: Any = a_claim("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-11-29T20:00:00Z"
    urgent: Any = a_claim("urgent")
    urgent["metadata"]["annotations"] = {"dra-console.io/priority": "7"}
    odd: Any = a_claim("odd")
    odd["metadata"]["annotations"] = {"dra-console.io/priority": "very"}

    assert pending_claim(an_allocated_claim("held")) is None
    assert pending_claim(leaving) is None
    waiting = pending_claim(urgent)
    assert waiting is not None
    assert (waiting.priority, waiting.raw) == (7, urgent)
    no_number = pending_claim(odd)
    assert no_number is not None
    assert no_number.priority == 0


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("false", False), ("", False)])
def test_the_label_says_which_claims_are_reserved_ahead(value: str, *, expected: bool) -> None:
    claim: Any = a_claim("ahead")
    claim["metadata"]["labels"] = {"dra-console.io/reserve-ahead": value}

    assert is_reserved_ahead(claim) is expected


def test_a_pod_has_the_claims_that_it_names_and_those_that_its_status_names() -> None:
    pod: Any = a_pod("train", template="one-gpu")
    pod["spec"]["resourceClaims"] += [
        {"name": "shared", "resourceClaimName": "channel"},
        {"name": "needless", "resourceClaimTemplateName": "maybe"},
        {"name": "later", "resourceClaimTemplateName": "one-nic"},
    ]
    pod["status"]["resourceClaimStatuses"] = [
        {"name": "gpu", "resourceClaimName": "train-gpu-x7k2m"},
        {"name": "needless"},
    ]

    assert claim_names_of(pod) == [
        ("gpu", "train-gpu-x7k2m"),
        ("shared", "channel"),
        ("later", ""),
    ]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["gpu"], "spec.resourceClaims: expected objects"),
        ([{"name": None}], r"spec.resourceClaims\[0\]: expected names"),
        ([{"name": "gpu", "resourceClaimName": 7}], r"spec.resourceClaims\[0\]: expected names"),
    ],
    ids=["no-object", "no-name", "claim-no-text"],
)
def test_a_malformed_reference_is_an_error_that_names_the_field(
    entries: list[Any], words: str
) -> None:
    with pytest.raises(DecodeError, match=words):
        claim_names_of(a_pod_of("odd", resourceClaims=entries))
