"""Upstream answers the scenarios of the benchmark as we do, and says how long it took."""

import pytest

from benchmarks.answers import compare
from benchmarks.ours import answers
from benchmarks.scenarios import Scale, Scenario, scenarios
from benchmarks.targets import Column
from benchmarks.upstream import Upstream
from tests.oracle.go import oracle_binary

TINY = Scale(small_nodes=10, sharing_nodes=10, large_nodes=20, stream=3)
QUICK = [each for each in scenarios(TINY) if each.limit_seconds == Scenario.limit_seconds]


@pytest.mark.parametrize("scenario", QUICK, ids=lambda scenario: scenario.key)
def test_upstream_answers_every_scenario_as_we_do(scenario: Scenario) -> None:
    upstream = Upstream(oracle_binary(), seconds=0.001, processes=1)

    answer = upstream.answer(scenario)

    assert answer.placements is not None
    ours = answers(scenario, scenario.world.snapshot)
    compare(scenario.key, {"ours": ours, "upstream": answer.placements})
    assert answer.seconds.keys() == {
        Column.GO_FIRST,
        Column.GO_COLD,
        Column.GO_POD,
        Column.GO_WARM,
    }
    assert all(seconds > 0 for seconds in answer.seconds.values())
