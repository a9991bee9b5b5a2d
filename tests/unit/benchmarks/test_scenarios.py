"""Every scenario of the benchmark runs on a handful of nodes, and its answers are compared."""

import pytest

from benchmarks.answers import NOWHERE, DifferentAnswersError, Placement, compare
from benchmarks.measuring import ask_reference, measure
from benchmarks.ours import answers
from benchmarks.reference import nodes_to_find
from benchmarks.scenarios import Scale, Scenario, scenarios
from benchmarks.targets import Column

TINY = Scale(small_nodes=10, sharing_nodes=10, large_nodes=20, stream=3)
SCENARIOS = [*scenarios(TINY)]
ENDLESS_FOR_OTHERS = {each.key for each in SCENARIOS if each.limit_seconds < Scenario.limit_seconds}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.key)
def test_every_scenario_is_answered_and_timed(scenario: Scenario) -> None:
    if scenario.key in ENDLESS_FOR_OTHERS:
        pytest.skip("the plain method takes its whole limit; asked in the test below")

    row = measure(scenario, upstream=None, seconds=0)

    also = {Column.FIRST} if scenario.is_beside_upstream else set()
    also |= {Column.FILTER} if scenario.pods > 1 else set()
    assert row.seconds.keys() == {Column.COLD, Column.KEPT, Column.WARM, Column.REFERENCE} | also
    assert all(seconds > 0 for seconds in row.seconds.values())
    assert not row.unfinished


@pytest.mark.parametrize(
    ("nodes", "fitting"),
    [(10, 10), (99, 99), (100, 100), (200, 100), (500, 230), (1_000, 420), (5_000, 500)],
)
def test_filter_looks_for_as_many_nodes_as_kube_scheduler(nodes: int, fitting: int) -> None:
    assert nodes_to_find(nodes) == fitting


def test_a_search_that_takes_too_long_is_stopped_and_says_so() -> None:
    (scenario,) = (each for each in SCENARIOS if each.key in ENDLESS_FOR_OTHERS)

    seconds, placements = ask_reference(scenario, limit_seconds=0.05)

    assert (seconds, placements) == (0.05, None)


@pytest.mark.parametrize(
    ("title", "nodes"),
    [
        ("one GPU, 10 nodes x 10, empty", ["node-00000"] * 3),
        ("one GPU, 10 nodes x 10, full", ["node-00009"] * 3),
        ("selector, 10 x 10", ["node-00009"] * 3),
        ("one GPU, 20 nodes x 8, 90 % held", ["node-00018"] * 3),
        ("matchAttribute, 10 x 10", ["node-00008"] * 3),
        ("4 of one PCIe root, which has 2, 10 x 8", [""]),
        ("30 of 80 Gi of a shared GPU, 10 x 4, full", ["node-00009"] * 3),
        ("9 GPUs of 8 on 10 nodes", [""]),
    ],
)
def test_scenarios_ask_what_their_titles_say(title: str, nodes: list[str]) -> None:
    scenario = next(each for each in SCENARIOS if each.title == title)

    placements = answers(scenario, scenario.world.snapshot)

    assert [each.node for each in placements] == nodes


def test_pods_of_a_stream_hold_what_they_got() -> None:
    scenario = next(each for each in SCENARIOS if each.id == "B1")

    placements = answers(scenario, scenario.world.snapshot)

    assert [each.devices for each in placements] == [
        ("node-00000/gpu-0",),
        ("node-00000/gpu-1",),
        ("node-00000/gpu-2",),
    ]


def test_different_answers_are_an_error_that_names_scenario_and_pod() -> None:
    answers = {"ours": [NOWHERE, Placement("n1", ("n1/x",))], "upstream": [NOWHERE, NOWHERE]}

    with pytest.raises(DifferentAnswersError, match=r"^B1 full: pod 1: ours says .*n1/x"):
        compare("B1 full", answers)


def test_an_answer_for_fewer_pods_is_a_difference() -> None:
    with pytest.raises(DifferentAnswersError, match="ours answered 1 pods, upstream 0"):
        compare("B1 full", {"ours": [NOWHERE], "upstream": []})
