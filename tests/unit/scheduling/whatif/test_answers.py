from typing import Any

import pytest

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.errors import DecodeError
from dra_console.scheduling.whatif.hits import Fate
from dra_console.scheduling.whatif.picture import picture_of
from dra_console.scheduling.whatif.rights import Rights
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    a_template,
    an_allocated_claim,
)
from tests.unit.scheduling.whatif.asking import World, a_fleet, of_claim, of_template

RESEARCH = Rights(claims=frozenset({"team-research"}), templates=frozenset({"team-research"}))


def counts(world: World, *edits: JsonObject, pod: JsonObject | None = None) -> tuple[int, int]:
    found = world.ask(*edits, pod=pod or of_template())
    assert found.today is not None
    assert found.then is not None
    return found.today.count, found.then.count


def test_a_template_fits_as_often_as_devices_are_free_and_one_more_says_why_not() -> None:
    found = World(*a_fleet()).ask(pod=of_template())

    assert found.today is found.then
    assert found.then is not None
    assert found.then.count == 6
    assert [(each.each, each.nodes) for each in found.then.places] == [
        (4, ("gpu-02",)),
        (2, ("gpu-01",)),
    ]
    assert found.then.explanation is not None
    assert found.then.explanation.headline == "All 8 matching devices are taken."


def test_a_node_like_another_brings_its_devices_free() -> None:
    edit: JsonObject = {"type": "addNodes", "like": "gpu-01", "count": 3}

    assert counts(World(*a_fleet()), edit) == (6, 18)
    assert counts(World(*a_fleet()), edit, pod=of_template("four")) == (1, 4)


def test_new_nodes_have_names_of_their_own() -> None:
    world = World(*a_fleet(a_node("gpu-01-like-1")))

    found = world.ask({"type": "addNodes", "like": "gpu-01", "count": 2})

    names = [node.name for node in found.after.snapshot.nodes]
    assert names[-2:] == ["gpu-01-like-2", "gpu-01-like-3"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", ["removeNode", "drainNode"])
def test_a_node_that_goes_takes_its_devices_and_its_pods_along(kind: str) -> None:
    world = World(*a_fleet())

    found = world.ask({"type": kind, "node": "gpu-01"}, pod=of_template())

    assert found.then is not None
    assert found.then.count == 4
    [impact] = found.impacts
    assert impact.total(Fate.EVICTED) == 2
    assert {(each.namespace, each.claims) for each in impact.namespaces} == {
        ("team-research", 1),
        ("team-vision", 1),
    }


def test_a_pod_with_two_claims_leaves_once() -> None:
    both = [
        an_allocated_claim(name, results=[a_result(device)], pods=("trainer",))
        for name, device in (("first", "gpu-2"), ("second", "gpu-3"))
    ]

    found = World(*a_fleet(*both)).ask({"type": "drainNode", "node": "gpu-01"})

    [impact] = found.impacts
    assert impact.evicted_pods == 1
    assert [
        (each.evicted_claims, each.evicted_pods, each.unknown_priorities)
        for each in impact.namespaces
        if each.evicted_pods
    ] == [(3, 1, 1)]


def test_no_execute_frees_devices_that_nobody_can_have_without_tolerating_it() -> None:
    tolerant = a_claim("tolerant", requests=[a_request(tolerations=[{"operator": "Exists"}])])
    world = World(*a_fleet(tolerant))
    edit: JsonObject = {
        "type": "taint",
        "devices": {"node": "gpu-01"},
        "key": "example.com/broken",
        "effect": "NoExecute",
    }

    assert counts(world, edit) == (6, 4)
    assert counts(world, edit, pod=of_claim("tolerant")) == (6, 8)


def test_no_schedule_hits_holders_only_by_name() -> None:
    edit: JsonObject = {
        "type": "taint",
        "devices": {"node": "gpu-01"},
        "key": "example.com/broken",
        "effect": "NoSchedule",
    }

    found = World(*a_fleet()).ask(edit, pod=of_template())

    [impact] = found.impacts
    assert found.then is not None
    assert (found.then.count, impact.evicted_pods) == (4, 0)
    assert (impact.total(Fate.STAYS), impact.total(Fate.EVICTED)) == (2, 0)


def test_the_tolerations_of_the_allocation_decide_who_leaves() -> None:
    def holding(name: str, device: str, **toleration: Any) -> JsonObject:
        result = a_result(device) | {"tolerations": [{"operator": "Exists", **toleration}]}
        return an_allocated_claim(name, namespace="team-research", results=[result])

    world = World(
        a_class(),
        a_node("gpu-01"),
        a_slice(node="gpu-01", devices=[a_device(f"gpu-{at}") for at in range(3)]),
        holding("stays", "gpu-0"),
        holding("later", "gpu-1", tolerationSeconds=60),
        an_allocated_claim("leaves", namespace="team-research", results=[a_result("gpu-2")]),
    )

    found = world.ask(
        {
            "type": "taint",
            "devices": {"driver": "gpu.nvidia.com"},
            "key": "k",
            "effect": "NoExecute",
        }
    )

    [impact] = found.impacts
    assert {each.name: (each.fate, each.seconds) for each in impact.claims} == {
        "stays": (Fate.TOLERATES, None),
        "later": (Fate.EVICTED_LATER, 60),
        "leaves": (Fate.EVICTED, None),
    }


def test_a_taint_can_be_taken_away_whoever_put_it_there() -> None:
    tainted = [a_device("gpu-0", taints=[a_taint()]), a_device("gpu-1"), a_device("gpu-2")]
    rule = a_taint_rule(device="gpu-1", taint=a_taint())
    world = World(
        a_class(),
        *(a_node(name) for name in ("gpu-01", "gpu-02")),
        *(a_slice(node=name, devices=tainted) for name in ("gpu-01", "gpu-02")),
        rule,
        a_template("one-gpu", namespace="team-research"),
    )
    key = "gpu.nvidia.com/xid"

    assert counts(world, {"type": "untaint", "key": key}) == (2, 6)
    assert counts(world, {"type": "untaint", "key": key, "devices": {"node": "gpu-02"}}) == (2, 4)
    assert counts(world, {"type": "untaint", "key": key, "devices": {"device": "gpu-1"}}) == (2, 4)


@pytest.mark.parametrize(
    ("devices", "then"),
    [
        ({"driver": "gpu.nvidia.com"}, 0),
        ({"pool": "gpu-02"}, 2),
        ({"node": "gpu-02"}, 2),
        ({"device": "gpu-3"}, 4),
        ({"pool": "gpu-02", "device": "gpu-3"}, 5),
    ],
)
def test_a_taint_keeps_pods_off_the_devices_that_are_meant_until_it_is_taken_away(
    devices: JsonObject, then: int
) -> None:
    world = World(*a_fleet())
    taint: JsonObject = {
        "type": "taint",
        "devices": devices,
        "key": "example.com/broken",
        "effect": "NoSchedule",
    }
    untaint: JsonObject = {"type": "untaint", "key": "example.com/broken", "devices": devices}

    assert counts(world, taint) == (6, then)
    assert counts(world, taint, untaint) == (6, 6)


def test_a_taint_on_all_devices_can_be_taken_away_from_some() -> None:
    world = World(*a_fleet())
    taint: JsonObject = {
        "type": "taint",
        "devices": {"driver": "gpu.nvidia.com"},
        "key": "example.com/broken",
        "effect": "NoSchedule",
    }
    part: JsonObject = {
        "type": "untaint",
        "key": "example.com/broken",
        "devices": {"node": "gpu-02"},
    }

    assert counts(world, taint, part) == (6, 4)
    assert counts(world.fresh(), taint, part) == (6, 4)


def test_nodes_of_tainted_devices_are_drawn_first() -> None:
    nodes = [f"node-{at:02}" for at in range(20)]
    world = World(
        a_class(),
        *(a_node(name) for name in nodes),
        *(a_slice(node=name, devices=[a_device()]) for name in nodes),
    )

    found = world.ask(
        {"type": "taint", "devices": {"pool": "node-17"}, "key": "k", "effect": "NoSchedule"}
    )

    assert picture_of(found).nodes[0].name == "node-17"


def test_a_claim_that_ends_leaves_its_devices() -> None:
    freed: JsonObject = {"type": "freeClaim", "namespace": "team-research", "name": "held"}

    assert counts(World(*a_fleet()), freed) == (6, 7)


def test_pods_that_come_first_take_their_place() -> None:
    world = World(*a_fleet())
    edit: JsonObject = {"type": "addPods", "pod": of_template("four"), "count": 2}

    found = world.ask(edit, pod=of_template())

    assert found.then is not None
    assert found.then.count == 2
    added = found.added[0]
    assert (added.wanted, added.count) == (2, 1)
    assert added.stopped == "Only 2 of 4 devices wanted are free."


def test_another_selector_of_a_class_is_another_world() -> None:
    edit: JsonObject = {
        "type": "setClassSelectors",
        "deviceClass": "gpu.nvidia.com",
        "selectors": ['device.driver == "other"'],
    }

    assert counts(World(*a_fleet()), edit) == (6, 0)


def test_nodes_that_take_no_pod_are_left_out_and_named() -> None:
    world = World(*a_fleet(), unusable={"gpu-02": "the node is cordoned"})

    found = world.ask(pod=of_template())

    assert found.then is not None
    assert found.then.count == 2
    assert found.then.explanation is not None
    assert any(
        judgement.evidence == "the node is cordoned"
        for group in found.then.explanation.groups
        for judgement in group.judgements
    )


def test_names_of_other_namespaces_are_no_names_to_the_reader() -> None:
    world = World(*a_fleet(a_template("private", namespace="team-vision")))
    hidden: JsonObject = {"type": "freeClaim", "namespace": "team-vision", "name": "secret"}
    missing: JsonObject = {"type": "freeClaim", "namespace": "team-vision", "name": "missing"}

    with pytest.raises(DecodeError, match="team-vision/secret, or you may not see it"):
        world.ask(hidden, rights=RESEARCH)
    with pytest.raises(DecodeError, match="team-vision/missing, or you may not see it"):
        world.ask(missing, rights=RESEARCH)
    with pytest.raises(DecodeError, match="or you may not see it"):
        world.ask(pod=of_template("private", namespace="team-vision"), rights=RESEARCH)
    with pytest.raises(DecodeError, match="or you may not see it"):
        world.ask(pod=of_claim("secret", namespace="team-vision"), rights=RESEARCH)


def test_claims_of_other_namespaces_are_counted_and_not_named() -> None:
    found = World(*a_fleet()).ask({"type": "drainNode", "node": "gpu-01"}, rights=RESEARCH)

    [impact] = found.impacts
    assert [(each.namespace, each.name) for each in impact.claims] == [("team-research", "held")]
    assert {each.namespace: each.claims for each in impact.namespaces} == {
        "team-research": 1,
        "": 1,
    }


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        ({"type": "drainNode", "node": "gone"}, "edits[0].node"),
        ({"type": "addNodes", "like": "gone", "count": 1}, "edits[0].like"),
        ({"type": "untaint", "key": "nothing"}, "edits[0].key"),
        (
            {"type": "taint", "devices": {"pool": "gone"}, "key": "k", "effect": "NoSchedule"},
            "edits[0].devices",
        ),
        ({"type": "freeClaim", "namespace": "team-research", "name": "gone"}, "edits[0]"),
        (
            {"type": "setClassSelectors", "deviceClass": "gone", "selectors": []},
            "edits[0].deviceClass",
        ),
        (
            {"type": "addPods", "pod": of_template("gone"), "count": 1},
            "edits[0].pod.claims[0].template",
        ),
    ],
)
def test_a_name_that_the_state_does_not_have_is_refused_by_its_path(
    edit: JsonObject, path: str
) -> None:
    with pytest.raises(DecodeError) as refused:
        World(*a_fleet()).ask(edit)

    assert refused.value.path == path
