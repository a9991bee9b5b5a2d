"""An explanation as JSON: folded by class of node, bounded where it is stored, and unfolded."""

import json
from collections import Counter

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.explanation.unfolding import find_device, key_of, node_rows, objects
from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)


def fleet(nodes: int, *, gpus: int = 4) -> list[JsonObject]:
    """Build alike nodes, of every third the first GPU is held; each device has a UUID."""
    world: list[JsonObject] = [a_class()]
    for number in range(nodes):
        name = f"node-{number:04d}"
        devices = [
            a_device(f"gpu-{gpu}", attributes={"uuid": f"{name}-{gpu}"}) for gpu in range(gpus)
        ]
        world += [a_node(name), a_slice(node=name, devices=devices)]
        if number % 3 == 0:
            result = a_result("gpu-0", pool=name)
            world.append(an_allocated_claim(f"held-{number}", results=[result], node=name))
    return world


def explained(world: list[JsonObject], *, count: int = 9) -> Explanation:
    claim = decode_claim(a_claim(requests=[a_request(count=count)]))
    return explain(decode_snapshot(world), [claim])


def rows(explanation: JsonObject) -> list[tuple[str, str, str, Json, Json]]:
    return [
        (
            str(row["name"]),
            key_of(device),
            str(device["verdict"]),
            device["evidence"],
            device["holder"],
        )
        for row in node_rows(explanation)
        for device in objects(row["devices"])
    ]


def test_alike_nodes_are_one_group_however_many_they_are() -> None:
    explanation = explained(fleet(300)).to_json()

    groups = objects(explanation["groups"])
    assert [len(group["names"]) for group in groups if isinstance(group["names"], list)] == [
        200,
        100,
    ]
    assert groups[0]["devices"] == [f"gpu.nvidia.com/*/gpu-{gpu}" for gpu in range(4)]


def test_size_of_the_answer_hardly_grows_with_alike_nodes() -> None:
    sizes = [len(json.dumps(explained(fleet(nodes)).to_json())) for nodes in (300, 600)]

    assert sizes[1] - sizes[0] < 300 * 60


def test_rows_are_those_of_the_value() -> None:
    explanation = explained(fleet(7))

    expected = [
        (
            node.name,
            str(each.device_id),
            each.verdict.value,
            each.evidence,
            {"namespace": each.holder.namespace, "name": each.holder.name} if each.holder else None,
        )
        for node in explanation.nodes
        for each in node.devices
    ]
    assert rows(explanation.to_json()) == expected
    assert len(expected) == 28


def test_one_node_is_unfolded_alone() -> None:
    explanation = explained(fleet(30)).to_json()

    (row,) = node_rows(explanation, names=frozenset({"node-0017"}))

    assert row["name"] == "node-0017"
    assert [key_of(device) for device in objects(row["devices"])] == [
        f"gpu.nvidia.com/node-0017/gpu-{gpu}" for gpu in range(4)
    ]


def test_one_device_is_found_in_its_group() -> None:
    explanation = explained(fleet(30)).to_json()

    found = find_device(explanation, "gpu.nvidia.com/node-0018/gpu-0")

    assert found is not None
    assert found["verdict"] == "taken"
    assert found["holder"] == {"namespace": "team-research", "name": "held-18"}
    assert find_device(explanation, "gpu.nvidia.com/node-0099/gpu-0") is None


def test_a_bounded_explanation_counts_the_devices_that_it_does_not_list() -> None:
    world = fleet(60) + [
        an_allocated_claim(
            f"more-{number}", results=[a_result(f"gpu-{1 + number % 3}", pool=f"node-{number:04d}")]
        )
        for number in range(40)
    ]
    explanation = explained(world)

    bounded = explanation.to_json(most_devices=8)

    counted: Counter[str] = Counter()
    for group in objects(bounded["groups"]):
        for verdict in objects(group["verdicts"]):
            counted[str(verdict["verdict"])] += int(str(verdict["count"]))
    funnel = bounded["funnel"]
    assert isinstance(funnel, dict)
    assert {name: counted[name] for name in funnel if name != "considered"} == {
        name: count for name, count in funnel.items() if name != "considered"
    }
    listed = [group for group in objects(bounded["groups"]) if group["devices"] is not None]
    assert sum(len(group["devices"]) for group in listed if isinstance(group["devices"], list)) == 8
    names = [row["name"] for row in node_rows(bounded)]
    assert sorted(map(str, names)) == [f"node-{number:04d}" for number in range(60)]


@pytest.mark.parametrize("pool", ["gpu-01", "rack/gpu-01", "gpu-01-gpus", "somewhere"])
def test_pools_are_named_again_as_they_were(pool: str) -> None:
    world = [a_class()]
    for name in ("gpu-01", "gpu-02"):
        own = pool.replace("gpu-01", name)
        devices = [a_device(f"{name}-0") if pool == "somewhere" else a_device("gpu-0")]
        world += [
            a_node(name),
            a_slice(
                f"slice-{name}",
                node=name,
                pool=own,
                slice_count=2 if pool == "somewhere" else 1,
                devices=devices,
            ),
        ]

    explanation = explained(world)

    assert [row[1] for row in rows(explanation.to_json())] == [
        str(each.device_id) for each in explanation.verdicts
    ]


def test_a_star_in_a_name_stays_a_star() -> None:
    world = [a_class()]
    for name in ("gpu-01", "gpu-02"):
        world += [a_node(name), a_slice(node=name, pool="*", devices=[a_device(f"{name}-*")])]

    explanation = explained(world)

    assert [row[1] for row in rows(explanation.to_json())] == [
        str(each.device_id) for each in explanation.verdicts
    ]
