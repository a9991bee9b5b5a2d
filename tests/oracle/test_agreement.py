"""Our allocator answers as Kubernetes' own does: the same node, devices and errors.

`make oracle` compares many more; a scenario that differs is named in the failure, and
`python -m tests.oracle NAME` shows it again, shrunk.
"""

import json
import os
from collections.abc import Iterator
from random import SystemRandom

import pytest

from dra_console.allocator.api_json import JsonObject, objects_of
from tests.oracle.agreement import Report, compare
from tests.oracle.comparison import differences
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.scenario import SERIES, scenario
from tests.oracle.go import Oracle, oracle_binary

pytestmark = pytest.mark.long

FIXED_SEEDS = (1, 2)
SCENARIOS_PER_FIXED_SEED = 500
FRESH_SCENARIOS = 500
LEAST_SHARE = 0.05
"""Of each outcome. A budget runs out rarely, and by design."""


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(oracle_binary()) as running:
        yield running


def assert_agreement(report: Report) -> None:
    names = [str(each.scenario["id"]) for each in report.differences]
    parts = [each.parts[0] for each in report.differences]
    assert not names, f"seed {report.seed}: {names}: {parts[:3]}"


@pytest.mark.parametrize("seed", FIXED_SEEDS)
@pytest.mark.parametrize("series", SERIES)
def test_both_allocators_agree_and_every_outcome_is_met(
    oracle: Oracle, series: str, seed: int
) -> None:
    report = compare(oracle, series, seed, SCENARIOS_PER_FIXED_SEED)

    assert_agreement(report)
    for outcome in ("allocated", "unallocatable", "error"):
        assert report.outcomes[outcome] >= LEAST_SHARE * report.scenarios, report.outcomes


@pytest.mark.parametrize("series", SERIES)
def test_both_allocators_agree_on_scenarios_that_nobody_has_seen(
    oracle: Oracle, series: str
) -> None:
    seed = int(os.environ.get("DRA_ORACLE_SEED") or SystemRandom().randrange(1 << 31))

    assert_agreement(compare(oracle, series, seed, FRESH_SCENARIOS))


@pytest.mark.parametrize("series", SERIES)
def test_upstreams_answer_does_not_depend_on_the_order_of_slices(
    oracle: Oracle, series: str
) -> None:
    """Else it would be nothing to agree with: slices come from a cache without order."""
    made = [scenario(series, 3, number) for number in range(200)]

    first = list(oracle.answers(json.dumps(each) for each in made))
    second = list(oracle.answers(json.dumps(with_slices_shuffled(each)) for each in made))

    assert [
        parts for pair in zip(first, second, strict=True) if (parts := differences(*pair))
    ] == []


def with_slices_shuffled(made: JsonObject) -> JsonObject:
    slices = [each for each in objects_of(made["objects"]) if each["kind"] == "ResourceSlice"]
    others = [each for each in objects_of(made["objects"]) if each["kind"] != "ResourceSlice"]
    return made | {"objects": [*others, *Chance(str(made["id"])).shuffled(slices)]}
