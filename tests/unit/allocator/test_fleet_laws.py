"""Laws of the fleet: whatever changes, it answers as a plain walk over the nodes does.

Worlds are those that are shown to upstream's allocator as well, over the whole feature
space; a fleet starts as one of them and drifts, object by object, towards others.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.command.scenario import Scenario
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.inventory import DeviceTaintRule, Node, ResourceSlice
from dra_console.allocator.model import DeviceClass, JsonObject, ResourceClaim
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.rules import Quirks, Rules
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.index import index_of
from tests.oracle.generator.scenario import scenario
from tests.unit.allocator import alike_worlds
from tests.unit.allocator.plain_first_fit import comparable, plain_first_fit
from tests.unit.allocator.worlds import snapshot

pytestmark = pytest.mark.long

Named = Node | ResourceSlice | DeviceClass | ResourceClaim | DeviceTaintRule

SLOW = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SEEDS = st.integers(0, 1_000_000)
SERIES = st.sampled_from(["default", "alpha"])
BUDGETS = st.sampled_from([DEFAULT_STEP_BUDGET, DEFAULT_STEP_BUDGET, 40, 10])


def drawn(series: str, seed: int, number: int = 0) -> Scenario:
    return Scenario.decode(json.dumps(scenario(series, seed, number)))


def put(fleet: Fleet, named: Named) -> None:
    match named:
        case Node():
            fleet.put_node(named)
        case ResourceSlice():
            fleet.put_slice(named)
        case DeviceClass():
            fleet.put_class(named)
        case ResourceClaim():
            fleet.put_claim(named)
        case DeviceTaintRule():
            fleet.put_taint_rule(named)


def remove(fleet: Fleet, named: Named) -> None:
    match named:
        case Node():
            fleet.remove_node(named.name)
        case ResourceSlice():
            fleet.remove_slice(named.name)
        case DeviceClass():
            fleet.remove_class(named.name)
        case ResourceClaim():
            fleet.remove_claim(named.key)
        case DeviceTaintRule():
            fleet.remove_taint_rule(named.name)


def objects_in(one: Scenario) -> list[Named]:
    world = one.snapshot
    return [*world.nodes, *world.slices, *world.classes, *world.claims, *world.taint_rules]


def check(fleet: Fleet, claims: Sequence[ResourceClaim], *, rules: Rules, step_budget: int) -> None:
    world = fleet.snapshot()
    index = index_of(world, rules=rules)

    plain = plain_first_fit(index, claims, nodes=world.nodes, step_budget=step_budget)
    kept = fleet.first_fit(claims, step_budget=step_budget)
    rebuilt = first_fit(index, claims, step_budget=step_budget)

    assert comparable(kept) == comparable(plain)
    assert comparable(rebuilt) == comparable(plain)


@SLOW
@given(series=SERIES, seed=SEEDS, step_budget=BUDGETS, again=st.booleans())
def test_first_fit_is_what_a_plain_walk_over_the_nodes_finds(
    series: str, seed: int, step_budget: int, again: bool
) -> None:
    asked = drawn(series, seed)
    index = index_of(asked.snapshot, rules=asked.rules)

    if again:
        first_fit(index, asked.claims, step_budget=step_budget)
    found = first_fit(index, asked.claims, nodes=asked.nodes, step_budget=step_budget)

    plain = plain_first_fit(index, asked.claims, nodes=asked.nodes, step_budget=step_budget)
    assert comparable(found) == comparable(plain)


@SLOW
@given(
    series=SERIES,
    seed=SEEDS,
    step_budget=BUDGETS,
    steps=st.lists(
        st.tuples(st.integers(0, 1_000), st.sampled_from(["put", "put", "put", "remove", "hold"])),
        min_size=1,
        max_size=25,
    ),
)
def test_a_fleet_that_changed_answers_as_one_that_starts_with_the_same_objects(
    series: str, seed: int, step_budget: int, steps: list[tuple[int, str]]
) -> None:
    start = drawn(series, seed)
    others = [replace(drawn(series, seed, at), rules=start.rules) for at in range(1, 4)]
    asked = [start, *others]
    objects = [each for one in asked for each in objects_in(one)]
    fleet = Fleet(start.snapshot, rules=start.rules)

    for choice, what in steps:
        question = asked[choice % len(asked)]
        if what == "hold":
            found = fleet.first_fit(question.claims, step_budget=step_budget).outcome
            if isinstance(found, Allocated):
                for claim, result in zip(question.claims, found.results, strict=True):
                    fleet.put_claim(replace(claim, allocation=result))
        elif what == "put":
            put(fleet, objects[choice % len(objects)])
        else:
            remove(fleet, objects[choice % len(objects)])
        check(fleet, question.claims, rules=start.rules, step_budget=step_budget)


@SLOW
@given(
    world=alike_worlds.worlds(),
    asked=st.lists(alike_worlds.claims(), min_size=1, max_size=2),
    steps=st.lists(
        st.one_of(st.sampled_from(["hold", "hold", "release"]), alike_worlds.holders()),
        min_size=1,
        max_size=30,
    ),
    step_budget=BUDGETS,
    rules=st.sampled_from([Rules(), Rules(), Rules(quirks=Quirks.none())]),
)
def test_what_is_known_of_a_node_is_told_only_of_nodes_that_are_alike(
    world: list[JsonObject],
    asked: list[JsonObject],
    steps: list[str | JsonObject],
    step_budget: int,
    rules: Rules,
) -> None:
    fleet = Fleet(snapshot(*world), rules=rules)
    questions = [decode_claim(each) for each in asked]
    held: list[str] = []

    for number, step in enumerate(steps):
        question = questions[number % len(questions)]
        if step == "hold":
            found = fleet.first_fit([question], step_budget=step_budget).outcome
            if isinstance(found, Allocated):
                name = f"held-{number}"
                fleet.put_claim(replace(question, name=name, allocation=found.results[0]))
                held.append(f"t/{name}")
        elif step == "release":
            if held:
                fleet.remove_claim(held.pop(number % len(held)))
        elif isinstance(step, dict):
            fleet.put_claim(decode_claim(step))
        for each in questions:
            check(fleet, [each], rules=rules, step_budget=step_budget)
    check(fleet, questions, rules=rules, step_budget=step_budget)
