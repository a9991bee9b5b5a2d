"""Law: what kept claims off a node may end in many ways, and a fleet misses none of them.

A world of three nodes, in which nearly every object can be another one at any moment: labels
and features of nodes, slices of a pool on other nodes, generations, what contradicts itself,
classes, taint rules, who holds or shares what. Each moment is compared with a plain walk.
"""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.index import index_of
from tests.builders.objects import (
    a_class,
    a_counter_set,
    a_node,
    a_result,
    a_taint_rule,
    an_allocated_claim,
)
from tests.unit.allocator.alike_worlds import SHARE, TAINT
from tests.unit.allocator.plain_first_fit import comparable, plain_first_fit
from tests.unit.allocator.worlds import claim, dev, pool, r, snapshot, with_gates

pytestmark = pytest.mark.long

RULES = with_gates(Feature.OPTIONAL_NODE_OPERATIONS)
NODES = st.sampled_from(["n", "m", "o"])
SLICE_NAMES = st.sampled_from(["s0", "s1", "s2", "s3"])
HOLDER_NAMES = st.sampled_from(["c0", "c1"])
Change: TypeAlias = Callable[[Fleet], None]

BIG = 'device.attributes["a"].model == "big"'
QUESTIONS = [
    decode_claim(each)
    for each in (
        claim(r("r", "A", BIG)),
        claim(r("r", "A", count=2)),
        claim(r("r", "As", capacity={"requests": {"memory": "3"}})),
        claim(r("one", "A"), r("other", "A", BIG), match=[("a/model", [])]),
    )
]
BODIES: tuple[JsonObject, ...] = (
    {},
    {"taints": [TAINT]},
    {"allowMultipleAllocations": True},
    {"consumesCounters": [a_counter_set("board", {"memory": "2"}, key="counterSet")]},
)
REACHES: tuple[dict[str, Json], ...] = (
    {"allNodes": True},
    {
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z0"]}]}
            ]
        }
    },
)


@st.composite
def devices(draw: st.DrawFn) -> list[JsonObject]:
    names = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3))
    return [
        dev(name, mem="4", attributes={"model": draw(st.sampled_from(["big", "small"]))})
        | draw(st.sampled_from(BODIES))
        for name in names
    ]


@st.composite
def slices(draw: st.DrawFn) -> JsonObject:
    """Draw a slice of one of two pools, for one node or several; a name is a place to stand."""
    reach = draw(st.one_of(NODES, st.sampled_from(REACHES)))
    spec: dict[str, Json] = {} if isinstance(reach, str) else dict(reach)
    if draw(st.booleans()):
        spec["skipNodeOperations"] = ["*"]
    content = draw(devices())
    if draw(st.integers(0, 3)) == 0:
        content = []
        spec["sharedCounters"] = [
            a_counter_set("board", {"memory": draw(st.sampled_from(["1", "2", "4"]))})
        ]
    return pool(
        draw(st.sampled_from("pq")),
        *content,
        driver="a",
        node=reach if isinstance(reach, str) else None,
        part=f"1/{draw(st.sampled_from([1, 1, 2]))}",
        generation=draw(st.sampled_from([1, 1, 1, 2])),
        slice_name=draw(SLICE_NAMES),
        **spec,
    )


@st.composite
def nodes(draw: st.DrawFn) -> JsonObject:
    features: list[Json] = [Feature.OPTIONAL_NODE_OPERATIONS.value] if draw(st.booleans()) else []
    node = a_node(draw(NODES), zone=draw(st.sampled_from(["z0", "z1"])))
    return node | {"status": {"declaredFeatures": features}}


@st.composite
def holders(draw: st.DrawFn) -> JsonObject:
    share: JsonObject = {"shareID": SHARE, "consumedCapacity": {"memory": "2"}}
    result = a_result(draw(st.sampled_from("xyz")), driver="a", pool=draw(st.sampled_from("pq")))
    result |= draw(st.sampled_from([{}, {}, share]))
    return an_allocated_claim(draw(HOLDER_NAMES), namespace="t", results=[result])


CLASSES_A = st.sampled_from(
    [
        decode_class(a_class("A", driver="a")),
        decode_class(a_class("A", driver="b")),
        decode_class(a_class("A", selectors=[BIG])),
    ]
)
TAINT_RULE = decode_taint_rule(a_taint_rule("rule", taint=TAINT, pool="p"))
CHANGES: st.SearchStrategy[Change] = st.one_of(
    slices().map(decode_slice).map(lambda one: lambda fleet: fleet.put_slice(one)),
    SLICE_NAMES.map(lambda name: lambda fleet: fleet.remove_slice(name)),
    nodes().map(decode_node).map(lambda one: lambda fleet: fleet.put_node(one)),
    NODES.map(lambda name: lambda fleet: fleet.remove_node(name)),
    holders().map(decode_claim).map(lambda one: lambda fleet: fleet.put_claim(one)),
    HOLDER_NAMES.map(lambda name: lambda fleet: fleet.remove_claim(f"t/{name}")),
    CLASSES_A.map(lambda one: lambda fleet: fleet.put_class(one)),
    st.just(lambda fleet: fleet.put_taint_rule(TAINT_RULE)),
    st.just(lambda fleet: fleet.remove_taint_rule(TAINT_RULE.name)),
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    start=st.lists(slices(), max_size=4),
    changes=st.lists(CHANGES, min_size=1, max_size=20),
    step_budget=st.sampled_from([DEFAULT_STEP_BUDGET, DEFAULT_STEP_BUDGET, 4]),
)
def test_a_fleet_says_at_any_moment_what_a_plain_walk_says(
    start: list[JsonObject], changes: list[Change], step_budget: int
) -> None:
    unique = {str(each["metadata"]): each for each in start}
    fleet = Fleet(snapshot(*unique.values()), rules=RULES)

    for change in (lambda _fleet: None, *changes):
        change(fleet)
        world = fleet.snapshot()
        index = index_of(world, rules=RULES)
        for asked in QUESTIONS:
            plain = plain_first_fit(index, [asked], nodes=world.nodes, step_budget=step_budget)
            kept = fleet.first_fit([asked], step_budget=step_budget)
            assert comparable(kept) == comparable(plain)
