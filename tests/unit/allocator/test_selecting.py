"""Nodes in tiers, or by what they come to, answer as a plain walk over the nodes does."""

import json
from collections.abc import Sequence
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.command.scenario import Scenario
from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.search.search import allocate
from dra_console.allocator.search.selecting import first_fit_in, fits_by
from tests.oracle.generator.scenario import scenario
from tests.unit.allocator.plain_first_fit import plain_first_fit

BUDGETS = st.sampled_from([50_000, 40, 10])

FEW = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def drawn(seed: int) -> Scenario:
    return Scenario.decode(json.dumps(scenario("default", seed, 0)))


def devices(
    _roster: Roster,
    _record: Record,
    _claims: Sequence[ResourceClaim],
    allocations: Sequence[AllocationResult],
) -> tuple[str, ...]:
    """Judge by the requests, which are the same on nodes that are alike."""
    return tuple(result.request for each in allocations for result in each.results)


@FEW
@given(st.integers(0, 1_000_000), st.randoms(use_true_random=False), BUDGETS)
def test_nodes_are_tried_tier_by_tier(seed: int, random: Random, budget: int) -> None:
    one = drawn(seed)
    fleet = Fleet(one.snapshot, rules=one.rules)
    order = [*range(len(one.snapshot.nodes))]
    random.shuffle(order)
    nodes = [one.snapshot.nodes[at] for at in order]
    tiers = [1 << at for at in order]

    expected = plain_first_fit(fleet.roster.index, one.claims, nodes=nodes, step_budget=budget)
    for _ in range(2):
        found = first_fit_in(fleet.roster, tiers, one.claims, step_budget=budget)

        assert found.node == expected.node
        assert type(found.outcome) is type(expected.outcome)
        if isinstance(expected.outcome, Allocated | BrokenInput):
            assert found.tried == expected.tried


@FEW
@given(st.integers(0, 1_000_000))
def test_all_nodes_on_which_claims_fit_are_judged(seed: int) -> None:
    one = drawn(seed)
    fleet = Fleet(one.snapshot, rules=one.rules)
    outcomes = [
        allocate(one.snapshot, one.claims, node=node, rules=one.rules)
        for node in one.snapshot.nodes
    ]
    every = (1 << len(outcomes)) - 1

    judged = fits_by(fleet.roster, devices, one.claims, nodes=every, step_budget=50_000)

    if any(isinstance(each, BrokenInput) for each in outcomes):
        assert judged.broken is not None
        return
    expected: dict[tuple[str, ...], int] = {}
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, Allocated):
            key = devices(fleet.roster, fleet.roster.nodes.record(at), (), outcome.results)
            expected[key] = expected.get(key, 0) | 1 << at
    assert judged.nodes == expected
