"""An index derived from one of another snapshot answers as one that was made anew."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.explanation.unfolding import node_rows
from dra_console.allocator.inventory import (
    DeviceTaintRule,
    NodeReach,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.model import JsonObject, ResourceClaim, Snapshot
from dra_console.allocator.world.index import derive_index, index_of
from tests.unit.allocator import alike_worlds
from tests.unit.allocator.worlds import claim, pool, r, snapshot

CHANGES = (
    "tainted",
    "gone",
    "another",
    "more nodes",
    "fewer nodes",
    "rule for all",
    "rule for a pool",
    "rule for a device",
    "rule gone",
)
NEW = Taint("new", "", "NoSchedule")


def altered(before: Snapshot, change: str, at: int) -> Snapshot:
    """Change one slice, a taint rule, or which nodes there are."""
    if "rule" in change:
        return ruled(before, change, at)
    slices = [*before.slices]
    meant = slices[at % len(slices)]
    match change:
        case "tainted":
            slices[at % len(slices)] = tainted(meant)
        case "gone":
            slices.remove(meant)
        case "another":
            slices.append(moved(meant, "elsewhere"))
        case "fewer nodes":
            return replace(before, nodes=before.nodes[1:])
        case "more nodes":
            node = replace(before.nodes[0], name="elsewhere")
            slices.append(moved(meant, "elsewhere"))
            return replace(before, nodes=(*before.nodes, node), slices=tuple(slices))
    return replace(before, slices=tuple(slices))


def ruled(before: Snapshot, change: str, at: int) -> Snapshot:
    """Add a taint rule, or end all."""
    meant = before.slices[at % len(before.slices)]
    names = [each.name for each in meant.devices] or ["x"]
    match change:
        case "rule for all":
            return with_rules(before, DeviceTaintRule("all", NEW))
        case "rule for a pool":
            return with_rules(before, DeviceTaintRule("pool", NEW, pool=meant.pool))
        case "rule for a device":
            return with_rules(before, DeviceTaintRule("device", NEW, device=names[-1]))
    return replace(before, taint_rules=())


def with_rules(world: Snapshot, *rules: DeviceTaintRule) -> Snapshot:
    return replace(world, taint_rules=(*world.taint_rules, *rules))


def tainted(slice_: ResourceSlice) -> ResourceSlice:
    devices = tuple(replace(each, taints=(*each.taints, NEW)) for each in slice_.devices)
    return replace(slice_, devices=devices)


def moved(slice_: ResourceSlice, name: str) -> ResourceSlice:
    return replace(
        slice_,
        name=f"{slice_.name}-{name}",
        pool=name,
        reach=NodeReach(node_name=name),
        resource_slice_count=1,
    )


def told(world: Snapshot, asked: ResourceClaim) -> JsonObject:
    """Explain, node by node: how nodes are folded, and the effort, depend on what was asked."""
    explanation = explain(world, [asked]).to_json()
    rows = sorted(node_rows(explanation), key=lambda row: str(row["name"]))
    return explanation | {"steps": 0, "groups": [*rows]}


@pytest.mark.long
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    alike_worlds.worlds(),
    st.lists(alike_worlds.holders(), max_size=3),
    st.lists(alike_worlds.claims(), min_size=1, max_size=3),
    st.sampled_from(CHANGES),
    st.integers(0, 20),
)
def test_a_derived_index_explains_as_a_new_one_does(
    objects: list[JsonObject],
    holders: list[JsonObject],
    asked: list[JsonObject],
    change: str,
    at: int,
) -> None:
    before = snapshot(*objects, *holders)
    if change == "rule gone":
        before = with_rules(before, DeviceTaintRule("first", NEW, pool=before.slices[0].pool))
    claims = [decode_claim(each) for each in asked]
    for each in claims[1:]:
        explain(before, [each])
    derived = altered(before, change, at)
    derive_index(before, derived)

    for each in claims:
        assert told(derived, each) == told(replace(derived), each)
        assert told(before, each) == told(replace(before), each)


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(alike_worlds.worlds(), st.lists(alike_worlds.claims(), min_size=1, max_size=2))
def test_a_taint_by_a_rule_is_explained_like_one_that_drivers_publish(
    objects: list[JsonObject], asked: list[JsonObject]
) -> None:
    world = snapshot(*objects)
    published = replace(world, slices=tuple(map(tainted, world.slices)))
    by_rule = with_rules(world, DeviceTaintRule("all", NEW))

    for each in map(decode_claim, asked):
        assert told(by_rule, each) == told(published, each)


def test_another_taint_rule_leaves_everything_else_known() -> None:
    before = snapshot(*(pool(f"p{at}", "x", node="n") for at in range(4)))
    known = index_of(before)
    after = with_rules(before, DeviceTaintRule("all", NEW))

    derive_index(before, after)

    assert index_of(after).inventory is known.inventory
    assert index_of(after).views.common is known.views.common
    assert index_of(after).added_taints.rules == after.taint_rules


def test_devices_of_slices_in_both_are_looked_at_once() -> None:
    before = snapshot(*(pool(f"p{at}", "x", node="n") for at in range(8)))
    explain(before, [decode_claim(claim(r()))])
    after = replace(before, slices=before.slices[1:])

    derive_index(before, after)

    kept, new = index_of(before).inventory, index_of(after).inventory
    assert new is not kept
    assert new.published(after.slices[0]) is kept.published(after.slices[0])
    assert len(list(new.slices())) == len(before.slices) - 1


def test_an_index_is_made_anew_where_most_of_it_would_be() -> None:
    before = snapshot(*(pool(f"p{at}", "x", node="n") for at in range(4)))
    known = index_of(before)
    after = replace(before, slices=tuple(map(tainted, before.slices)))

    derive_index(before, after)

    assert index_of(after).views.common is not known.views.common
