"""Changes that make a claim fit: every one that is told was tried."""

from dataclasses import replace

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_taint,
    an_allocated_claim,
)

IS_BIG = 'device.attributes["gpu.nvidia.com"].model == "big"'
IS_NEW = 'device.attributes["gpu.nvidia.com"].gen == 2'


def gpu(name: str, root: int, *, taints: list[JsonObject] | None = None) -> JsonObject:
    return a_device(
        name, attributes={"model": "big", "gen": 1, "root": root}, taints=[*(taints or [])]
    )


def suggested(
    *objects: JsonObject,
    requests: list[JsonObject],
    constraints: list[JsonObject] | None = None,
) -> list[tuple[str, str]]:
    claim = decode_claim(a_claim(requests=requests, constraints=constraints))
    world = decode_snapshot([a_node(), a_class(), *objects])
    return [(each.text, each.detail) for each in explain(world, [claim]).suggestions]


def test_as_many_devices_as_there_are() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0), gpu("gpu-1", 0)])

    assert suggested(world, requests=[a_request(count=4)]) == [
        ("Ask for 2 instead of 4 devices in request gpu", "fits on gpu-01")
    ]


def test_one_constraint_less() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0), gpu("gpu-1", 1)])
    same: JsonObject = {"matchAttribute": "gpu.nvidia.com/root"}

    assert suggested(world, requests=[a_request(count=2)], constraints=[same]) == [
        ("Ask for 1 instead of 2 devices in request gpu", "fits on gpu-01"),
        ("Drop the constraint: same gpu.nvidia.com/root", "fits on gpu-01"),
    ]


def test_one_clause_of_a_selector_less() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0)])

    assert suggested(world, requests=[a_request(selectors=[f"{IS_BIG} && {IS_NEW}"])]) == [
        (f"Drop the condition {IS_NEW}", "fits on gpu-01")
    ]


def test_one_taint_tolerated() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0, taints=[a_taint("k", "v", "NoExecute")])])

    assert suggested(world, requests=[a_request()]) == [
        ("Tolerate taint k=v:NoExecute", "fits on gpu-01")
    ]


def test_nothing_is_told_that_does_not_help() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0, taints=[a_taint("k", "v"), a_taint("l", "v")])])

    assert suggested(world, requests=[a_request(selectors=[IS_NEW])]) == []


def test_waiting_for_a_claim_leaves_its_name_out_of_the_text() -> None:
    world = decode_snapshot(
        [
            a_node(),
            a_class(),
            a_slice(devices=[gpu("gpu-0", 0), gpu("gpu-1", 0)]),
            an_allocated_claim("secret", results=[a_result("gpu-0"), a_result("gpu-1")]),
        ]
    )

    (suggestion,) = explain(world, [decode_claim(a_claim())]).suggestions

    assert suggestion.text == "Wait for the claim that holds 2 devices"
    assert suggestion.holder is not None
    assert suggestion.holder.name == "secret"


def test_the_world_without_the_holder_does_fit() -> None:
    world = decode_snapshot(
        [
            a_node(),
            a_class(),
            a_slice(devices=[gpu("gpu-0", 0)]),
            an_allocated_claim("held", results=[a_result("gpu-0")]),
        ]
    )
    claim = decode_claim(a_claim())
    (suggestion,) = explain(world, [claim]).suggestions

    rest = tuple(each for each in world.claims if each is not suggestion.holder)

    assert explain(replace(world, claims=rest), [claim]).outcome == "fits"


def test_a_clause_that_fails_can_be_left_out() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0)])
    broken = f'{IS_BIG} && device.attributes["gpu.nvidia.com"].typo'

    assert suggested(world, requests=[a_request(selectors=[broken])]) == [
        ('Drop the condition device.attributes["gpu.nvidia.com"].typo', "fits on gpu-01")
    ]


def test_an_alternative_can_be_relaxed_alone() -> None:
    world = a_slice(devices=[gpu("gpu-0", 0), gpu("gpu-1", 0)])
    alternatives: list[Json] = [
        {"name": "four", "deviceClassName": "gpu.nvidia.com", "count": 4},
        {"name": "three", "deviceClassName": "gpu.nvidia.com", "count": 3},
    ]

    assert suggested(world, requests=[{"name": "gpu", "firstAvailable": alternatives}]) == [
        ("Ask for 2 instead of 4 devices in request gpu/four", "fits on gpu-01"),
        ("Ask for 2 instead of 3 devices in request gpu/three", "fits on gpu-01"),
    ]


def test_only_a_few_claims_to_wait_for_are_told_and_the_largest_first() -> None:
    objects: list[JsonObject] = [a_slice(devices=[gpu(f"gpu-{n}", 0) for n in range(8)])]
    objects += [an_allocated_claim(f"one-{n}", results=[a_result(f"gpu-{n}")]) for n in range(6)]
    objects.append(an_allocated_claim("two", results=[a_result("gpu-6"), a_result("gpu-7")]))

    assert [text for text, _ in suggested(*objects, requests=[a_request()])] == [
        "Wait for the claim that holds 2 devices",
        "Wait for the claim that holds 1 device",
        "Wait for the claim that holds 1 device",
    ]


def test_a_device_that_was_given_away_twice_is_not_free_when_one_claim_ends() -> None:
    twice = [an_allocated_claim(name, results=[a_result("gpu-0")]) for name in ("one", "two")]

    assert suggested(a_slice(devices=[gpu("gpu-0", 0)]), *twice, requests=[a_request()]) == []


def test_patches_say_what_was_changed() -> None:
    claim = decode_claim(a_claim(requests=[a_request(count=4)]))
    world = decode_snapshot([a_node(), a_class(), a_slice(devices=[gpu("gpu-0", 0)])])

    (suggestion,) = explain(world, [claim]).suggestions

    assert suggestion.patches == {
        "team-research/train": (
            {"op": "add", "path": "/spec/devices/requests/0/exactly/count", "value": 1},
        )
    }
