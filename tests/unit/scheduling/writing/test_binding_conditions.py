"""How far devices with binding conditions are, read from claims alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

from dra_console.scheduling.writing.binding_conditions import (
    NotPrepared,
    Preparing,
    preparation_of,
)
from tests.builders.objects import a_result, an_allocated_claim

ALLOCATED_AT = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
TIMEOUT = timedelta(seconds=600)
SOON = ALLOCATED_AT + timedelta(seconds=30)


def a_preparing_claim(name: str = "train", **conditions: str) -> Any:
    """Build a claim whose device reports `conditions`, by type."""
    result = a_result(bindingConditions=["Attached"], bindingFailureConditions=["Broken"])
    claim: Any = an_allocated_claim(name, results=[result])
    claim["status"]["allocation"]["allocationTimestamp"] = "2026-11-30T06:00:00Z"
    if conditions:
        reported = [
            {"type": type_, "status": status, "reason": "Cable", "message": "no link"}
            for type_, status in conditions.items()
        ]
        device = {key: result[key] for key in ("driver", "pool", "device")}
        claim["status"]["devices"] = [{**device, "conditions": reported}]
    return claim


def test_devices_without_binding_conditions_need_no_waiting() -> None:
    assert preparation_of([an_allocated_claim()], now=SOON, timeout=TIMEOUT) is None


def test_a_device_that_has_reported_nothing_is_waited_for() -> None:
    answer = preparation_of([a_preparing_claim()], now=SOON, timeout=TIMEOUT)

    assert isinstance(answer, Preparing)
    assert answer.until == ALLOCATED_AT + TIMEOUT
    assert "is not Attached yet" in answer.reason


def test_every_condition_has_to_be_true() -> None:
    ready, not_ready = a_preparing_claim(Attached="True"), a_preparing_claim(Attached="False")

    assert preparation_of([ready], now=SOON, timeout=TIMEOUT) is None
    assert isinstance(preparation_of([ready, not_ready], now=SOON, timeout=TIMEOUT), Preparing)


def test_one_failure_condition_ends_the_waiting_whatever_else_is_true() -> None:
    claim = a_preparing_claim(Attached="True", Broken="True")

    answer = preparation_of([claim], now=SOON, timeout=TIMEOUT)

    assert answer == NotPrepared(
        claim,
        'device binding failed: claim=team-research/train, reason=Cable, message="no link"',
    )


def test_the_time_counts_from_the_allocation() -> None:
    answer = preparation_of([a_preparing_claim()], now=ALLOCATED_AT + TIMEOUT, timeout=TIMEOUT)

    assert isinstance(answer, NotPrepared)
    assert answer.reason.startswith("device binding timeout: claim=team-research/train")


def test_a_device_that_is_ready_is_used_however_long_it_took() -> None:
    claim = a_preparing_claim(Attached="True")

    assert preparation_of([claim], now=ALLOCATED_AT + 2 * TIMEOUT, timeout=TIMEOUT) is None


def test_what_is_said_of_another_device_does_not_count() -> None:
    claim: Any = a_preparing_claim(Attached="True")
    claim["status"]["devices"][0]["device"] = "gpu-9"

    assert isinstance(preparation_of([claim], now=SOON, timeout=TIMEOUT), Preparing)


def test_the_earliest_end_is_the_one_to_look_again_at() -> None:
    later: Any = a_preparing_claim("later")
    later["status"]["allocation"]["allocationTimestamp"] = "2026-11-30T06:01:00Z"

    answer = preparation_of([later, a_preparing_claim()], now=SOON, timeout=TIMEOUT)

    assert isinstance(answer, Preparing)
    assert answer.until == ALLOCATED_AT + TIMEOUT
