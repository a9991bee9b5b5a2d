"""Schedulers that are killed at their writes, on an API server that fails: some rounds of it.

A thousand rounds are in `tests/cluster/scheduling`, which `make test-cluster` runs.
"""

import pytest

from tests.integration.scheduling.faults.command import played
from tests.settings import TEST_DATABASE

pytestmark = pytest.mark.long

ROUNDS = 6
"""Each takes a second on an idle machine."""


def test_whatever_kills_a_scheduler_claims_end_whole_or_free_and_no_device_is_given_twice() -> None:
    report = played(rounds=ROUNDS, seed=20261130, database=TEST_DATABASE)

    assert report["violations"] == [], "\n".join(report["story"])
    assert report["rounds"] == ROUNDS
    assert report["bound"] >= ROUNDS
    assert sum(count for end, count in report["ends"].items() if end.startswith("killed")) >= 3
    assert len(report["faults"]) >= 3
