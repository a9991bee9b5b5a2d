from datetime import timedelta

import pytest

from dra_console.mirror.models import Pod, ResourceClaim
from dra_console.scheduling.models import Attempt
from dra_console.web.presenters.claim_life import phase_of, silence_of_agent, timeline_of
from tests.unit.web.states import DRIVER, NOW, an_agent, live_state


def an_attempt(headline: str, *, seconds_ago: float, repeats: int = 0) -> Attempt:
    return Attempt(headline=headline, last_at=NOW - timedelta(seconds=seconds_ago), repeats=repeats)


def test_attempts_in_a_row_that_said_the_same_are_one_happening() -> None:
    attempts = [
        an_attempt("None is free.", seconds_ago=1),
        an_attempt("None is free.", seconds_ago=9, repeats=3),
        an_attempt("2 are free, 4 wanted.", seconds_ago=20),
        an_attempt("None is free.", seconds_ago=30),
        an_attempt("None is free.", seconds_ago=40),
    ]

    timeline = timeline_of(ResourceClaim(), changes=(), prepared=(), attempts=attempts)

    assert [one.detail for one in timeline] == [
        "None is free. (4 more tries said the same)",
        "2 are free, 4 wanted.",
        "None is free. (1 more try said the same)",
    ]
    assert timeline[0].at == NOW - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("age_seconds", "driver", "silence"),
    [
        (40, DRIVER, timedelta(seconds=40)),
        (5, DRIVER, None),
        (40, "other.example", None),
    ],
)
def test_the_agent_of_a_claim_is_missed_if_it_is_silent_and_serves_its_devices(
    age_seconds: float, driver: str, silence: timedelta | None
) -> None:
    live = live_state(an_agent(age_seconds=age_seconds))
    claim = ResourceClaim(node_name="gpu-01")

    assert silence_of_agent(claim, drivers={driver}, live=live) == silence
    elsewhere = ResourceClaim(node_name="gpu-02")
    assert silence_of_agent(elsewhere, drivers={driver}, live=live) is None


def test_a_running_pod_that_is_being_deleted_is_terminating() -> None:
    assert phase_of(Pod(phase="Running")) == "Running"
    assert phase_of(Pod(phase="Running", deletion_requested_at=NOW)) == "Terminating"
