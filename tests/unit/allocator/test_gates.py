"""`dra-semantics.md` 3.3 to 3.5: what each feature gate refuses, hides or lets through."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.rules import Feature, Quirks, Rules
from dra_console.allocator.search.search import Allocated
from tests.builders.objects import a_class, a_node, a_prioritized_request, a_taint, a_wish
from tests.unit.allocator.worlds import (
    answer,
    claim,
    counters,
    dev,
    every,
    outcome,
    pool,
    r,
    used,
    with_gates,
    without_gates,
)

CORDONED = dev("x", taints=[a_taint("k", "v", "NoSchedule")])
BINDING = dev("x", bindingConditions=["ready"], bindingFailureConditions=["failed"])
HALF: JsonObject = {"requests": {"k": "1"}}

REFUSED = [
    pytest.param(
        claim(a_prioritized_request("r", s0=a_wish(device_class="A"))),
        Feature.PRIORITIZED_LIST,
        "claim t/c0, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
        id="37 a prioritized list",
    ),
    pytest.param(
        claim(r(adminAccess=True)),
        Feature.ADMIN_ACCESS,
        "claim t/c0, request r: admin access is requested, but the feature is disabled",
        id="38 admin access",
    ),
    pytest.param(
        claim(r(adminAccess=False)),
        Feature.ADMIN_ACCESS,
        "claim t/c0, request r: admin access is requested, but the feature is disabled",
        id="38 admin access, though it is not wanted",
    ),
    pytest.param(
        claim(r(capacity=HALF)),
        Feature.CONSUMABLE_CAPACITY,
        "claim t/c0, request r: has capacity requests, "
        "but the DRAConsumableCapacity feature is disabled",
        id="39 capacity",
    ),
    pytest.param(
        claim(a_prioritized_request("r", s0=a_wish(device_class="A", capacity=HALF))),
        Feature.CONSUMABLE_CAPACITY,
        "claim t/c0, subrequest s0: has capacity requests, "
        "but the DRAConsumableCapacity feature is disabled",
        id="40 capacity of an alternative",
    ),
    pytest.param(
        claim(r(derivedAttributes=[{"name": "d/x", "expression": "1"}])),
        Feature.DERIVED_ATTRIBUTES,
        "claim t/c0, request r: cannot handle request with derived attributes, "
        "the feature is disabled",
        id="derived attributes",
    ),
]


@pytest.mark.parametrize(("asked", "gate", "message"), REFUSED)
def test_request_that_needs_a_gate_is_refused_without_it(
    asked: JsonObject, gate: Feature, message: str
) -> None:
    assert answer([asked], [pool("p", "x")], rules=without_gates(gate)) == f"FATAL: {message}"


PER_DEVICE = [pool("p", dev("x", nodeName="n"), node=None, perDeviceNodeSelection=True)]
DRAWING = [
    counters("p", part="1/2", c={"mem": "8"}),
    pool("p", dev("x", uses={"c": {"mem": "8"}}), "y", part="2/2"),
]
UNGATED = [
    pytest.param(PER_DEVICE, claim(r()), Feature.PARTITIONABLE_DEVICES, "NONE", id="60 by device"),
    pytest.param(
        DRAWING, claim(r()), Feature.PARTITIONABLE_DEVICES, "r=p/y", id="142 one that draws"
    ),
    pytest.param(
        DRAWING, claim(r(count=2)), Feature.PARTITIONABLE_DEVICES, "NONE", id="142 only one is left"
    ),
    pytest.param(
        DRAWING, claim(every()), Feature.PARTITIONABLE_DEVICES, "NONE", id="142 All means both"
    ),
    pytest.param([pool("p", CORDONED)], claim(r()), Feature.DEVICE_TAINTS, "r=p/x", id="132 taint"),
    pytest.param(
        [pool("p", CORDONED)], claim(every()), Feature.DEVICE_TAINTS, "r=p/x", id="78 taint, All"
    ),
    pytest.param(
        [pool("p", CORDONED)],
        claim(r(adminAccess=True)),
        Feature.DEVICE_TAINTS,
        "r=p/x!",
        id="86 taint, admin access",
    ),
    pytest.param(
        [pool("p", BINDING)], claim(r()), Feature.BINDING_CONDITIONS, "NONE", id="179 binding"
    ),
    pytest.param(
        [pool("p", BINDING, "y")],
        claim(every()),
        Feature.BINDING_CONDITIONS,
        "r=p/y",
        id="179 binding, All does not mean it",
    ),
    pytest.param(
        [pool("p", dev("x", allowMultipleAllocations=True))],
        claim(r("r0"), r("r1")),
        Feature.CONSUMABLE_CAPACITY,
        "NONE",
        id="a shareable device goes once",
    ),
    pytest.param(
        [
            pool("p", dev("x", allowMultipleAllocations=True)),
            used("p/x", shareID="11111111-1111-4111-8111-111111111111"),
        ],
        claim(r()),
        Feature.CONSUMABLE_CAPACITY,
        "NONE",
        id="a share holds the whole device",
    ),
]


@pytest.mark.parametrize(("world", "asked", "gate", "expected"), UNGATED)
def test_without_its_gate(
    world: Sequence[JsonObject], asked: JsonObject, gate: Feature, expected: str
) -> None:
    assert answer([asked], world, rules=without_gates(gate)) == expected


def test_179_device_with_conditions_is_picked_and_the_lists_are_copied() -> None:
    found = outcome([claim(r())], [pool("p", BINDING)])

    assert isinstance(found, Allocated)
    result = found.results[0].results[0]
    assert result.binding_conditions == ("ready",)
    assert result.binding_failure_conditions == ("failed",)


def test_hidden_device_is_not_shown_to_selectors() -> None:
    asked = claim(r("r", "A", 'device.attributes["a"].none'))

    found = answer([asked], [pool("p", BINDING)], rules=without_gates(Feature.BINDING_CONDITIONS))

    assert found == "NONE"


BROKEN_SELECTOR: JsonObject = {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]
}


@pytest.mark.parametrize(
    "unseen",
    [
        pytest.param(
            pool(
                "q",
                node=None,
                nodeSelector=BROKEN_SELECTOR,
                sharedCounters=[{"name": "c", "counters": {"mem": {"value": "8"}}}],
            ),
            id="shared counters",
        ),
        pytest.param(
            pool(
                "q",
                dev("y", nodeSelector=BROKEN_SELECTOR),
                node=None,
                perDeviceNodeSelection=True,
            ),
            id="nodes of each device",
        ),
    ],
)
def test_node_selectors_of_a_slice_that_nobody_looks_at_are_not_read(unseen: JsonObject) -> None:
    world = [pool("p", "x"), unseen]
    rules = without_gates(Feature.PARTITIONABLE_DEVICES)

    assert answer([claim(r())], world).startswith("FATAL: node selector of a ResourceSlice")
    assert answer([claim(r())], world, rules=rules) == "r=p/x"


def test_counters_are_not_judged_without_their_gate() -> None:
    world = [
        pool("p", "x", part="1/2"),
        pool("p", dev("y", uses={"none": {"mem": "1"}}), part="2/2"),
    ]

    assert answer([claim(r())], world) == "LOCAL"
    assert answer([claim(r())], world, rules=without_gates(Feature.PARTITIONABLE_DEVICES)) == (
        "r=p/x"
    )


FRACTIONS: JsonObject = {
    "capacity": {
        "k": {
            "value": "2",
            "requestPolicy": {
                "default": "500m",
                "validRange": {"min": "500m", "max": "2", "step": "250m"},
            },
        }
    },
    "allowMultipleAllocations": True,
}


@pytest.mark.parametrize(
    ("gate", "asked", "expected"),
    [
        (True, "600m", "r=p/x~{k:750m}"),
        (False, "600m", "r=p/x~{k:1}"),
        (True, "1100m", "r=p/x~{k:1250m}"),
        (False, "1100m", "r=p/x~{k:2}"),
        (True, "100m", "r=p/x~{k:500m}"),
        (False, "100m", "r=p/x~{k:500m}"),
        (True, "1850m", "r=p/x~{k:2}"),
    ],
)
def test_fractional_ranges(gate: bool, asked: str, expected: str) -> None:
    rules = with_gates(Feature.FRACTIONAL_CAPACITY_RANGE) if gate else Rules()
    wanted: JsonObject = {"requests": {"k": asked}}

    found = answer([claim(r(capacity=wanted))], [pool("p", dev("x") | FRACTIONS)], rules=rules)

    assert found == expected


@pytest.mark.parametrize(
    ("least", "step", "asked"),
    [
        pytest.param("500m", "1m", "500500u", id="finer than thousandths"),
        pytest.param("1m", "1", "9223372036854775807", id="too many thousandths"),
        pytest.param("1u", "4", "9223372036854775807", id="rounded up beyond 64 bits"),
    ],
)
def test_amount_that_steps_cannot_express_is_broken_input(
    least: str, step: str, asked: str
) -> None:
    policy: JsonObject = {"default": least, "validRange": {"min": least, "step": step}}
    device = dev("x") | {
        "capacity": {"k": {"value": "8", "requestPolicy": policy}},
        "allowMultipleAllocations": True,
    }
    wanted: JsonObject = {"requests": {"k": asked}}

    rules = with_gates(Feature.FRACTIONAL_CAPACITY_RANGE)

    found = answer([claim(r(capacity=wanted))], [pool("p", device)], rules=rules)

    assert found.startswith("FATAL: claim t/c0, request r: checking capacity for device a/p/x: ")


def test_negative_capacity_is_broken_input() -> None:
    device = dev("x") | {"capacity": {"k": {"value": "-1"}}}

    found = answer([claim(r())], [pool("p", device)])

    assert found == (
        "FATAL: claim t/c0, request r: checking capacity for device a/p/x: "
        "capacity k: capacity value is negative"
    )


def grouped(name: str, *groups: str) -> JsonObject:
    return dev(name) | {
        "consumesCounters": [
            {
                "counterSet": "c",
                "counters": {"mem": {"value": "1"}},
                "compatibilityGroups": [*groups],
            }
        ]
    }


def board(*devices: JsonObject) -> list[JsonObject]:
    return [counters("p", part="1/2", c={"mem": "8"}), pool("p", *devices, part="2/2")]


GROUPS = with_gates(Feature.COMPATIBILITY_GROUPS)


@pytest.mark.parametrize(
    ("devices", "asked", "expected"),
    [
        ([grouped("x", "g"), grouped("y", "h"), grouped("z", "g")], 2, "r=p/x r=p/z"),
        ([grouped("x", "g"), grouped("y"), grouped("z", "g", "h")], 2, "r=p/x r=p/z"),
        ([grouped("x"), grouped("y", "g"), grouped("z")], 2, "r=p/x r=p/z"),
        ([grouped("x", "g", "h"), grouped("y", "g"), grouped("z", "h")], 3, "NONE"),
        ([grouped("x", "g", "h"), grouped("y", "g"), grouped("z", "g")], 3, "r=p/x r=p/y r=p/z"),
        ([grouped("x", "g", "h"), grouped("y", "g"), grouped("z", "h")], 2, "r=p/x r=p/y"),
    ],
)
def test_devices_on_one_counter_set_have_a_group_in_common(
    devices: Sequence[JsonObject], asked: int, expected: str
) -> None:
    assert answer([claim(r(count=asked))], board(*devices), rules=GROUPS) == expected


def test_group_of_an_allocated_device_binds_the_next() -> None:
    world = [*board(grouped("x", "g"), grouped("y", "h"), grouped("z", "g")), used("p/x")]

    assert answer([claim(r())], world, rules=GROUPS) == "r=p/z"


def test_groups_of_an_undone_pick_are_forgotten() -> None:
    devices = [
        grouped(name, group) | {"attributes": {"n": {"int": number}}}
        for name, group, number in (("x", "g", 1), ("y", "h", 2), ("z", "h", 3))
    ]
    asked = claim(r("r0"), r("r1", "A", 'device.attributes["a"].n == 3'))

    assert answer([asked], board(*devices), rules=GROUPS) == "r0=p/y r1=p/z"


def test_slice_with_groups_that_nobody_heeds_makes_its_pool_incomplete() -> None:
    world = board(grouped("x", "g"), dev("y"))

    assert answer([claim(r())], world) == "NONE"
    assert "currently being updated" in answer([claim(every())], world)


def test_allocated_devices_that_do_not_go_together_count_from_the_node_outwards() -> None:
    world = [
        counters("p", part="1/3", c={"mem": "8"}),
        pool("p", grouped("far"), part="2/3", node="m", slice_name="a-first"),
        pool("p", grouped("near", "g"), grouped("x"), grouped("y", "g"), part="3/3"),
        used("p/near", "p/far"),
    ]

    assert answer([claim(r())], world, rules=GROUPS) == "r=p/y"


SKIPPING = pool("p", "x", skipNodeOperations=["NodePrepareResources", "NodeUnprepareResources"])
OPTIONAL = Feature.OPTIONAL_NODE_OPERATIONS


def able_node() -> JsonObject:
    return a_node("able") | {"status": {"declaredFeatures": [OPTIONAL.value]}}


def test_only_a_node_that_can_skip_operations_gets_devices_that_want_it() -> None:
    world = [SKIPPING | {}, able_node()]
    everywhere = [
        pool("p", "x", node=None, allNodes=True, skipNodeOperations=["*"]),
        able_node(),
    ]

    assert answer([claim(r())], world, rules=with_gates(OPTIONAL)) == "NONE"
    assert answer([claim(r())], everywhere, node="able", rules=with_gates(OPTIONAL)) == "r=p/x"


def test_operations_to_skip_are_copied_to_the_result() -> None:
    world = [pool("p", "x", node=None, allNodes=True, skipNodeOperations=["*"]), able_node()]

    found = outcome([claim(r())], world, node="able", rules=with_gates(OPTIONAL))

    assert isinstance(found, Allocated)
    assert found.results[0].to_json()["devices"] == {
        "results": [
            {
                "request": "r",
                "driver": "a",
                "pool": "p",
                "device": "x",
                "skipNodeOperations": ["*"],
            }
        ]
    }


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(), "r=p/x"),
        (Rules(quirks=Quirks.none()), "NONE"),
        (with_gates(Feature.LIST_TYPE_ATTRIBUTES), "NONE"),
    ],
)
def test_without_the_gate_only_the_experimental_allocator_sees_operations_to_skip(
    rules: Rules, expected: str
) -> None:
    assert answer([claim(r())], [SKIPPING], rules=rules) == expected


def test_class_selectors_without_cel_are_refused() -> None:
    broken = a_class("broken") | {"spec": {"selectors": [{}]}}

    found = answer([claim(r("r", "broken"))], [pool("p", "x"), broken])

    assert "class broken: selector #0: CEL expression empty" in found
