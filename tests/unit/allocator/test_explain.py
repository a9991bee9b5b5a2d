"""Why a claim is not allocated: headline, funnel, verdicts, nodes (`product.md` story 1)."""

from collections.abc import Sequence
from typing import Any

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import DEFAULT_FEATURES, Feature, Rules
from tests.builders.objects import (
    a_claim,
    a_class,
    a_counter_set,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_taint,
    an_allocated_claim,
)
from tests.unit.allocator.golden_cases import inside

IS_H100 = 'device.attributes["gpu.nvidia.com"].productName == "H100"'
HAS_80 = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0'
SAME_ROOT: JsonObject = {"matchAttribute": "gpu.nvidia.com/pcieRoot"}


def h100s(node: str, *, tainted: int | None = None) -> JsonObject:
    """Build eight H100s, two behind each of four PCIe roots."""
    return a_slice(
        node=node,
        devices=[
            a_device(
                f"gpu-{index}",
                attributes={"productName": "H100", "pcieRoot": f"root-{index // 2}"},
                taints=[a_taint()] if index == tainted else None,
            )
            for index in range(8)
        ],
    )


def l4s(node: str) -> JsonObject:
    devices = [a_device(f"gpu-{index}", attributes={"productName": "L4"}) for index in range(4)]
    return a_slice(node=node, devices=devices)


def held(node: str, *numbers: int) -> JsonObject:
    results = [a_result(f"gpu-{number}", pool=node) for number in numbers]
    return an_allocated_claim(f"held-{node}", results=results, node=node, namespace="team-vision")


CLUSTER = [
    *(a_node(name) for name in ("gpu-01", "gpu-02", "gpu-03", "l4-01")),
    a_class(),
    h100s("gpu-01"),
    h100s("gpu-02"),
    h100s("gpu-03", tainted=7),
    l4s("l4-01"),
    held("gpu-01", *range(8)),
    held("gpu-02", *range(6)),
    held("gpu-03", 3, 4, 5),
]


def explained(
    *requests: JsonObject,
    constraints: list[JsonObject] | None = None,
    world: Sequence[JsonObject] = CLUSTER,
    node_names: Sequence[str] | None = None,
) -> Explanation:
    claim = a_claim(requests=list(requests), constraints=constraints)
    return explain(decode_snapshot(world), [decode_claim(claim)], node_names=node_names)


def gpus(count: int, *selectors: str, name: str = "gpu") -> JsonObject:
    return a_request(name, selectors=list(selectors) or [IS_H100], count=count)


def node_lines(explanation: Explanation) -> list[tuple[str, str, str]]:
    return [(each.name, each.reason, each.summary) for each in explanation.nodes]


def verdict_of(explanation: Explanation, node: str, device: str) -> tuple[str, str]:
    return next(
        (each.verdict.value, each.evidence)
        for account in explanation.nodes
        if account.name == node
        for each in account.devices
        if each.device_id.device == device
    )


def test_constraint_that_no_node_meets() -> None:
    explanation = explained(gpus(4), constraints=[SAME_ROOT])

    assert explanation.outcome == "does-not-fit"
    assert explanation.headline == (
        "6 devices are free, but no node has 4 with the same gpu.nvidia.com/pcieRoot."
    )
    assert explanation.detail == (
        "Of 28 devices, 4 do not match the selectors, 1 is tainted, 17 are taken, 6 are free. "
        "0 of 6 free devices fit together: on gpu-03, the largest group with the same "
        "gpu.nvidia.com/pcieRoot is 2 (2 with root-0, 1 with root-1, 1 with root-3), 4 wanted."
    )
    assert node_lines(explanation) == [
        (
            "gpu-03",
            "constraint",
            "4 free; the largest group with the same gpu.nvidia.com/pcieRoot is 2",
        ),
        ("gpu-02", "count", "2 free, 4 wanted"),
        ("gpu-01", "taken", "0 free of 8 matching devices"),
        ("l4-01", "selector-mismatch", "none of 4 devices of the class matches the selectors"),
    ]


HEADLINES = [
    pytest.param([gpus(9)], CLUSTER, "Only 6 of 9 devices wanted are free.", id="too few anywhere"),
    pytest.param(
        [gpus(5)],
        CLUSTER,
        "6 devices are free, but no node has 5; the most is 4, on gpu-03.",
        id="too few on one node",
    ),
    pytest.param(
        [gpus(1, 'device.attributes["gpu.nvidia.com"].productName == "B200"')],
        CLUSTER,
        "None of the 28 devices of class gpu.nvidia.com matches the selectors.",
        id="selectors",
    ),
    pytest.param(
        [gpus(1)],
        [a_node("l4-01"), a_class(driver="other.io"), l4s("l4-01")],
        "None of 4 devices is of class gpu.nvidia.com.",
        id="class",
    ),
    pytest.param(
        [gpus(1)],
        [a_node("gpu-01"), a_class(), h100s("gpu-01"), held("gpu-01", *range(8))],
        "All 8 matching devices are taken.",
        id="taken",
    ),
    pytest.param(
        [gpus(1)],
        [
            a_node("gpu-01"),
            a_class(),
            a_slice(devices=[a_device(attributes={"productName": "H100"}, taints=[a_taint()])]),
        ],
        "The only matching device is tainted "
        "(taint gpu.nvidia.com/xid=79:NoSchedule is not tolerated).",
        id="tainted",
    ),
    pytest.param(
        [gpus(1)],
        [a_node("gpu-01"), a_class(), h100s("gpu-01", tainted=7), held("gpu-01", *range(7))],
        "All 8 matching devices are tainted or taken.",
        id="tainted or taken",
    ),
    pytest.param(
        [gpus(1)], [a_node("gpu-01"), a_class()], "No node publishes any device.", id="none"
    ),
    pytest.param(
        [gpus(1), gpus(9, name="many")],
        CLUSTER,
        "Request many: only 6 of 9 devices wanted are free.",
        id="one of two requests",
    ),
    pytest.param(
        [gpus(4), gpus(1, name="more")],
        CLUSTER,
        "6 devices are free, but no node has 5 for all requests together.",
        id="requests that compete",
    ),
    pytest.param(
        [a_request(selectors=[IS_H100], allocationMode="All")],
        CLUSTER,
        "It wants all matching devices of a node, but on gpu-03 only 4 of 8 are free.",
        id="mode All",
    ),
]


@pytest.mark.parametrize(("requests", "world", "headline"), HEADLINES)
def test_headline_names_the_first_decisive_reason(
    requests: Sequence[JsonObject], world: Sequence[JsonObject], headline: str
) -> None:
    explanation = explained(*requests, world=world)

    assert (explanation.outcome, explanation.headline) == ("does-not-fit", headline)


def partitions(memory: str, *sizes: str) -> list[JsonObject]:
    devices = [
        a_device(f"part-{index}", memory=size, consumes={"gpu-0": {"memory": size}})
        for index, size in enumerate(sizes)
    ]
    return [
        a_node("gpu-01"),
        a_class(),
        a_slice(
            "counters", slice_count=2, sharedCounters=[a_counter_set("gpu-0", {"memory": memory})]
        ),
        a_slice("devices", slice_count=2, devices=devices),
    ]


def test_counters_that_are_used_up_say_how_much_is_missing() -> None:
    world = [
        *partitions("40Gi", "20Gi", "40Gi"),
        an_allocated_claim(results=[a_result("part-0")]),
    ]

    explanation = explained(a_request(), world=world)

    assert verdict_of(explanation, "gpu-01", "part-1") == (
        "counters",
        "counter memory of gpu-0 is short by 20Gi",
    )
    assert explanation.headline == (
        "All 2 matching devices are taken or short of shared counters "
        "(counter memory of gpu-0 is short by 20Gi)."
    )


def test_partitions_that_fit_one_at_a_time_only() -> None:
    explanation = explained(a_request(count=2), world=partitions("40Gi", "20Gi", "40Gi"))

    assert explanation.headline == (
        "2 devices are free, but not 2 at a time: counter memory of gpu-0 is short by 20Gi."
    )
    assert node_lines(explanation) == [
        (
            "gpu-01",
            "counters",
            "2 free, at most 1 of 2 at a time: then counter memory of gpu-0 is short by 20Gi",
        )
    ]


def test_verdict_has_the_clause_that_failed() -> None:
    explanation = explained(gpus(9, f"{IS_H100} && {HAS_80}"))

    assert verdict_of(explanation, "l4-01", "gpu-0") == (
        "selector-mismatch",
        f"{IS_H100} is false (selector #0 of request gpu: {IS_H100} && {HAS_80})",
    )


def test_false_clause_is_to_blame_whatever_another_one_does() -> None:
    reads_ecc = 'device.attributes["gpu.nvidia.com"].ecc'

    explanation = explained(gpus(1, f"{reads_ecc} && {IS_H100}"))

    assert verdict_of(explanation, "l4-01", "gpu-0") == (
        "selector-mismatch",
        f"{IS_H100} is false (selector #0 of request gpu: {reads_ecc} && {IS_H100})",
    )
    assert verdict_of(explanation, "gpu-01", "gpu-0")[0] == "selector-error"


def test_taken_device_names_its_holder_apart_from_the_evidence() -> None:
    explanation = explained(gpus(9))

    taken = next(each for each in explanation.nodes[0].devices if each.verdict.value == "taken")
    assert taken.evidence == "in use by another claim"
    assert taken.holder is not None
    assert taken.holder.key == "team-vision/held-gpu-03"


def test_selector_error_shows_message_and_device_and_is_no_mismatch() -> None:
    explanation = explained(gpus(1, 'device.attributes["gpu.nvidia.com"].ecc'))

    assert explanation.outcome == "broken"
    assert explanation.headline == (
        'On device gpu.nvidia.com/gpu-02/gpu-6, device.attributes["gpu.nvidia.com"].ecc fails: '
        "no such key: ecc, consider has(), or .?ecc with orValue() (selector #0 of request gpu)."
    )
    assert verdict_of(explanation, "l4-01", "gpu-0")[0] == "selector-error"
    assert explanation.detail == (
        "No device has the attribute gpu.nvidia.com/ecc, which a selector reads. "
        "Of 28 devices, 28 fail a selector."
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            a_request(device_class="nope"),
            ("Request gpu: could not retrieve device class nope: no DeviceClass has this name."),
        ),
        (
            gpus(33),
            ("Number of requested devices 33 exceeds the claim limit of 32."),
        ),
    ],
)
def test_broken_claim_has_its_own_message(request_: JsonObject, message: str) -> None:
    explanation = explained(request_)

    assert (explanation.outcome, explanation.headline) == ("broken", message)


def with_one_device_without_model(nodes: int) -> list[JsonObject]:
    world = [a_node(f"gpu-{number:03}") for number in range(nodes)]
    for number in range(nodes):
        attributes: dict[str, Json] = {} if number == nodes - 1 else {"model": "H100"}
        devices = [a_device(attributes=attributes)]
        world.append(a_slice(node=f"gpu-{number:03}", devices=devices))
    return [*world, a_class()]


def test_an_error_on_another_node_keeps_kube_scheduler_from_the_one_that_fits() -> None:
    selector = 'device.attributes["gpu.nvidia.com"].model == "H100"'
    asked = a_request(selectors=[selector])

    explanation = explained(asked, world=with_one_device_without_model(99))

    assert explanation.outcome == "broken"
    assert "device gpu.nvidia.com/gpu-098/gpu-0" in explanation.headline
    assert "no such key: model" in explanation.headline
    assert explanation.headline.endswith(
        "It fits on gpu-000, but kube-scheduler gives up at an error on any node."
    )
    # It looks for a hundred nodes that fit, so it may not come to the last one of a hundred.
    assert explained(asked, world=with_one_device_without_model(100)).outcome == "fits"


def test_device_without_the_mark_that_a_scheduler_wants_says_which() -> None:
    request: Any = a_request()
    request["exactly"]["tolerations"] = [
        {"key": "example.com/ours", "operator": "dra-console.io/Only", "effect": "NoSchedule"}
    ]
    marked = a_device("gpu-1", taints=[a_taint("example.com/ours")])
    world = [a_node(), a_class(), a_slice(devices=[a_device("gpu-0"), marked])]

    explanation = explained(request, world=world)

    assert [each.device_id.device for each in explanation.chosen] == ["gpu-1"]
    assert verdict_of(explanation, "gpu-01", "gpu-0") == (
        "node-filter",
        "it is not marked with taint example.com/ours",
    )


def test_claim_that_fits_names_node_and_devices() -> None:
    explanation = explained(gpus(3))

    assert explanation.outcome == "fits"
    assert explanation.node == "gpu-03"
    assert explanation.headline == "Fits on gpu-03: gpu-0, gpu-1, gpu-2."
    assert node_lines(explanation)[0] == ("gpu-03", "fits", "chosen: gpu-0, gpu-1, gpu-2")
    assert [each.device_id.device for each in explanation.chosen] == ["gpu-0", "gpu-1", "gpu-2"]


def test_nodes_are_tried_in_the_order_given() -> None:
    explanation = explained(gpus(1), node_names=["gpu-03", "gpu-02"])

    assert explanation.node == "gpu-03"


def test_free_device_on_a_node_that_may_not_be_used_is_out_of_reach() -> None:
    explanation = explained(gpus(4), node_names=["gpu-01"])

    assert explanation.outcome == "does-not-fit"
    assert verdict_of(explanation, "gpu-03", "gpu-0") == (
        "node-filter",
        "its node is not among the nodes that may be used",
    )


def test_allocated_claim_shows_the_devices_that_it_has() -> None:
    snapshot = decode_snapshot(CLUSTER)
    claim = next(each for each in snapshot.claims if each.name == "held-gpu-03")

    explanation = explain(snapshot, [claim])

    assert explanation.outcome == "fits"
    assert explanation.node == "gpu-03"
    assert explanation.headline == "Allocated on gpu-03: gpu-3, gpu-4, gpu-5."
    answer = explanation.to_json()
    assert inside(answer, "funnel", "taken") == 14


def test_allocated_claim_binds_a_pending_one_to_its_node() -> None:
    snapshot = decode_snapshot([*CLUSTER, a_claim("train", requests=[gpus(2)])])
    bound = next(each for each in snapshot.claims if each.name == "held-gpu-03")
    pending = next(each for each in snapshot.claims if each.name == "train")

    assert explain(snapshot, [pending]).node == "gpu-02"
    assert explain(snapshot, [bound, pending]).node == "gpu-03"


def test_devices_of_an_incomplete_pool_are_out_of_reach_and_say_why() -> None:
    world = [a_node("gpu-01"), a_class(), a_slice(slice_count=2, devices=[a_device()])]

    explanation = explained(a_request(), world=world)

    assert verdict_of(explanation, "gpu-01", "gpu-0") == (
        "node-filter",
        "its pool is incomplete: 1 of 2 slices of generation 1",
    )


def test_device_that_all_nodes_can_use_is_listed_once_without_a_node() -> None:
    world = [
        a_node("gpu-01"),
        a_node("gpu-02"),
        a_class(),
        a_slice(node=None, allNodes=True, devices=[a_device("shared-0")]),
        an_allocated_claim(results=[a_result("shared-0", pool="shared")], node=None),
    ]

    explanation = explained(a_request(), world=world)

    assert [(each.name, len(each.devices)) for each in explanation.nodes] == [("", 1)]
    assert explanation.headline == "The only matching device is taken."


def test_device_that_no_node_can_use_is_accounted_for() -> None:
    world = [a_node("gpu-01"), a_class(), a_slice(node="gone", devices=[a_device()])]

    explanation = explained(a_request(), world=world)

    assert verdict_of(explanation, "", "gpu-0") == (
        "node-filter",
        "no node of the cluster can use this device",
    )


def test_malformed_node_selector_is_broken_input() -> None:
    near: JsonObject = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]
    }
    world = [a_node(), a_class(), a_slice(node=None, pool="p", nodeSelector=near)]

    explanation = explained(a_request(), world=world)

    assert explanation.outcome == "broken"
    assert "expected one of In, NotIn" in explanation.headline


def test_a_node_left_out_is_not_tried_and_its_devices_say_why() -> None:
    world = [a_node("gpu-01"), a_node("gpu-02"), a_class()]
    world += [a_slice(node=name, devices=[a_device()]) for name in ("gpu-01", "gpu-02")]

    explanation = explain(
        decode_snapshot(world),
        [decode_claim(a_claim())],
        left_out={"gpu-01": "the node is cordoned"},
    )

    evidence = {each.device_id.pool: each.evidence for each in explanation.verdicts}
    assert explanation.node == "gpu-02"
    assert evidence["gpu-01"] == "the node is cordoned"


def shared(name: str, capacity: str) -> JsonObject:
    return a_device(name, memory=capacity) | {"allowMultipleAllocations": True}


def share(device: str, amount: str) -> JsonObject:
    return a_result(device) | {
        "shareID": "a671734a-e8e5-11e4-8fde-42010af09327",
        "consumedCapacity": {"memory": amount},
    }


def asking_for(amount: str, name: str = "gpu", *, count: int = 1) -> JsonObject:
    return a_request(name, count=count, capacity={"requests": {"memory": amount}})


def test_capacity_that_is_booked_says_how_much_is_missing() -> None:
    world = [
        a_node("gpu-01"),
        a_class(),
        a_slice(devices=[shared("gpu-0", "80Gi")]),
        an_allocated_claim(results=[share("gpu-0", "60Gi")], namespace="team-vision"),
    ]

    explanation = explained(asking_for("30Gi"), world=world)

    assert verdict_of(explanation, "gpu-01", "gpu-0") == (
        "taken",
        "capacity memory is short by 10Gi: 30Gi of 80Gi wanted, 20Gi left beside 1 share",
    )
    (row,) = explanation.verdicts
    assert row.holder is not None
    assert row.holder.namespace == "team-vision"


@pytest.mark.parametrize(
    ("asked", "evidence"),
    [
        ("100Gi", "capacity memory is short by 20Gi: 100Gi of 80Gi wanted, 80Gi left"),
        ("3Gi", "capacity memory cannot be had in an amount of 3Gi, by the device's policy"),
    ],
)
def test_capacity_that_no_device_has_is_a_mismatch(asked: str, evidence: str) -> None:
    policy: JsonObject = {"default": "1Gi", "validValues": ["1Gi", "2Gi"]}
    device = shared("gpu-0", "80Gi")
    if asked == "3Gi":
        device["capacity"] = {"memory": {"value": "80Gi", "requestPolicy": policy}}
    world = [a_node("gpu-01"), a_class(), a_slice(devices=[device])]

    explanation = explained(asking_for(asked), world=world)

    assert verdict_of(explanation, "gpu-01", "gpu-0") == ("selector-mismatch", evidence)


def test_shares_that_do_not_fit_beside_each_other() -> None:
    world = [a_node("gpu-01"), a_class(), a_slice(devices=[shared("gpu-0", "80Gi")])]

    explanation = explained(asking_for("50Gi", "a"), asking_for("50Gi", "b"), world=world)

    assert explanation.headline == (
        "1 device is free, but not 2 at a time: capacity memory is short by 20Gi: "
        "50Gi of 80Gi wanted, 30Gi left beside 1 share."
    )
    assert explanation.together is not None
    assert explanation.together.limit == "at most 1 of 2 at a time"


def test_furthest_set_is_the_largest_one_and_not_the_first_that_was_tried() -> None:
    explanation = explained(
        a_request(count=4), world=partitions("40Gi", "20Gi", "10Gi", "10Gi", "10Gi")
    )

    assert explanation.together is not None
    assert explanation.together.evidence == (
        "at most 3 of 4 at a time: then counter memory of gpu-0 is short by 10Gi"
    )
    assert explanation.funnel[Verdict.FREE] == 4


@pytest.mark.parametrize(
    ("constraints", "headline"),
    [
        (
            [{"matchAttribute": "gpu.nvidia.com/root"}],
            "64 devices are free, but no node has 6 with the same gpu.nvidia.com/root.",
        ),
        (
            [
                {"matchAttribute": "gpu.nvidia.com/root", "requests": ["a", "b"]},
                {"distinctAttribute": "gpu.nvidia.com/numa"},
            ],
            "64 devices are free, but no node has 4 with the same gpu.nvidia.com/root.",
        ),
    ],
    ids=["one constraint", "two constraints"],
)
def test_a_search_without_end_is_explained_in_a_few_steps(
    constraints: list[JsonObject], headline: str
) -> None:
    devices = [
        a_device(f"gpu-{number}", attributes={"root": number // 3, "numa": number % 5})
        for number in range(64)
    ]
    world = [a_node("gpu-01"), a_class(), a_slice(devices=devices)]

    explanation = explained(
        *(a_request(name, count=2) for name in ("a", "b", "c")),
        constraints=constraints,
        world=world,
    )

    assert explanation.headline == headline
    assert explanation.steps < 5_000


def test_distinct_values_that_are_too_few_are_listed() -> None:
    distinct: JsonObject = {"distinctAttribute": "gpu.nvidia.com/pcieRoot"}

    explanation = explained(gpus(4), constraints=[distinct])

    assert explanation.headline == (
        "6 devices are free, but no node has 4 with different gpu.nvidia.com/pcieRoot."
    )
    assert explanation.together is not None
    assert explanation.together.evidence == (
        "they have 3 different values of gpu.nvidia.com/pcieRoot "
        "(2 with root-0, 1 with root-1, 1 with root-3), 4 wanted"
    )


def test_claims_of_one_pod_are_told_apart() -> None:
    claims = [
        decode_claim(a_claim(name, requests=[gpus(count, name="gpu")]))
        for name, count in (("small", 1), ("large", 9))
    ]

    explanation = explain(decode_snapshot(CLUSTER), claims)

    assert explanation.headline == ("Request gpu of large: only 6 of 9 devices wanted are free.")
    assert [each.text for each in explanation.suggestions] == [
        "Ask for 3 instead of 9 devices in request gpu of claim large"
    ]


def test_a_node_on_which_the_other_claim_cannot_be_used_says_so() -> None:
    snapshot = decode_snapshot([*CLUSTER, a_claim("train", requests=[gpus(2)])])
    bound = next(each for each in snapshot.claims if each.name == "held-gpu-01")
    pending = next(each for each in snapshot.claims if each.name == "train")

    explanation = explain(snapshot, [bound, pending])

    assert verdict_of(explanation, "gpu-02", "gpu-7") == (
        "node-filter",
        "claim held-gpu-01 is allocated on another node",
    )


def test_an_exhausted_search_says_so_and_counts_the_devices_all_the_same() -> None:
    claim = decode_claim(a_claim(requests=[gpus(3)]))

    explanation = explain(decode_snapshot(CLUSTER), [claim], step_budget=1)

    assert explanation.outcome == "budget"
    assert explanation.headline.startswith("The search ended without an answer after ")
    assert sum(explanation.funnel.values()) == 28


def test_device_that_a_feature_gate_hides_says_which() -> None:
    device = a_device("gpu-0") | {
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["failed"],
    }
    world = decode_snapshot([a_node(), a_class(), a_slice(devices=[device])])
    rules = Rules(features=DEFAULT_FEATURES - {Feature.BINDING_CONDITIONS})

    explanation = explain(world, [decode_claim(a_claim())], rules=rules)

    (row,) = explanation.verdicts
    assert (row.verdict, row.evidence) == (
        Verdict.SELECTOR_MISMATCH,
        "the device has binding conditions, and the feature gate DRADeviceBindingConditions is off",
    )


def test_a_malformed_selector_elsewhere_does_not_hide_what_fits() -> None:
    near: JsonObject = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]
    }
    world = [
        a_node("gpu-01"),
        a_class(),
        a_slice("good", node="gpu-01", devices=[a_device("gpu-0")]),
        a_slice("bad", node=None, pool="p", nodeSelector=near, devices=[a_device("gpu-1")]),
    ]

    explanation = explained(a_request(), world=world)

    assert len(explanation.verdicts) == 2
    assert sum(explanation.funnel.values()) == 2
