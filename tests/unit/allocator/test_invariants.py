"""Laws that hold for every world: the search against brute force, and explanations."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.explanation.unfolding import node_rows, objects
from dra_console.allocator.model import Json, JsonObject, Node
from dra_console.allocator.search.search import Allocated, allocate
from tests.builders.objects import a_device
from tests.builders.strategies import claims, worlds
from tests.unit.allocator.golden_cases import inside
from tests.unit.allocator.oracle import first_fit

pytestmark = pytest.mark.long

NODES = ("gpu-01", "gpu-02")
VERDICTS = (
    "class-mismatch",
    "selector-mismatch",
    "selector-error",
    "tainted",
    "taken",
    "constraint",
    "counters",
    "node-filter",
    "free",
)
SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def found_on(
    world: Sequence[JsonObject], claim: JsonObject, node: str
) -> list[tuple[str, str]] | None:
    outcome = allocate(decode_snapshot(world), [decode_claim(claim)], node=Node(node))
    if not isinstance(outcome, Allocated):
        return None
    return [(each.request, each.device) for each in outcome.results[0].results]


@SLOW
@given(world=worlds(), claim=claims(), node=st.sampled_from(NODES))
def test_search_finds_what_brute_force_finds_first(
    world: list[JsonObject], claim: JsonObject, node: str
) -> None:
    assert found_on(world, claim, node) == first_fit(world, claim, node=node)


@SLOW
@given(world=worlds(), claim=claims(), node=st.sampled_from(NODES))
def test_one_more_free_device_never_makes_a_claim_not_fit(
    world: list[JsonObject], claim: JsonObject, node: str
) -> None:
    if found_on(world, claim, node) is None:
        return
    for each in world:
        devices = inside(each, "spec", "devices")
        if inside(each, "spec", "nodeName") == node and isinstance(devices, list):
            devices.append(a_device("gpu-new", attributes={"model": "big", "root": 1}))

    assert found_on(world, claim, node) is not None


@SLOW
@given(world=worlds(most_devices=8), claim=claims(), names=st.sets(st.sampled_from(NODES)))
def test_verdicts_add_up_to_all_devices_once_each(
    world: list[JsonObject], claim: JsonObject, names: set[str]
) -> None:
    published = Counter(
        (inside(each, "spec", "pool", "name"), inside(device, "name"))
        for each in world
        for device in listed(inside(each, "spec", "devices"))
    )

    answer = explain(
        decode_snapshot(world), [decode_claim(claim)], node_names=sorted(names)
    ).to_json()

    funnel = answer["funnel"]
    assert isinstance(funnel, dict)
    counts = {name: count for name, count in funnel.items() if name != "considered"}
    assert set(counts) == set(VERDICTS)
    assert funnel["considered"] == sum(int(str(count)) for count in counts.values())
    devices = [each for node in node_rows(answer) for each in objects(node["devices"])]
    judged = Counter((inside(each, "pool"), inside(each, "device")) for each in devices)
    assert judged == published
    by_verdict = Counter(inside(each, "verdict") for each in devices)
    assert {name: by_verdict[name] for name in counts} == counts


@SLOW
@given(world=worlds(), claim=claims())
def test_explanation_agrees_with_the_search(world: list[JsonObject], claim: JsonObject) -> None:
    explanation = explain(decode_snapshot(world), [decode_claim(claim)])

    fitting = [node for node in NODES if found_on(world, claim, node) is not None]
    assert explanation.outcome == ("fits" if fitting else "does-not-fit")
    assert explanation.node == (fitting[0] if fitting else None)


def listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
