"""`dra-semantics.md` 6.3: completeness, generations, validity, and which nodes are reached."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.search import Allocated
from tests.builders.objects import a_node_selector, a_prioritized_request, a_wish
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
)


def labelled(key: str, *values: str) -> JsonObject:
    return {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [*values]}]}
        ]
    }


ZONE_1 = labelled("zone", "z1")
COMPLETENESS = [
    pytest.param([pool("p", "x", part="1/2")], "NONE", id="41 a slice is missing"),
    pytest.param(
        [
            pool("p", "x", part="1/2", generation=1),
            pool("p", "y", part="1/2", generation=2),
        ],
        "NONE",
        id="42 the new generation is incomplete, the old one is over",
    ),
    pytest.param(
        [pool("p", "x", part="1/2"), pool("p", "x", part="2/2")],
        "LOCAL",
        id="43 a device name occurs twice",
    ),
    pytest.param(
        [pool("p", "x", part="1/2"), pool("p", "x", part="2/2"), pool("q", "y")],
        "r=q/y",
        id="44 another pool hides the invalid one",
    ),
    pytest.param(
        [pool("p", "x", part="1/2"), pool("p", "x", part="2/2"), pool("q", "y"), used("q/y")],
        "LOCAL",
        id="45 the other pool is used up",
    ),
    pytest.param(
        [pool("p", "x", part="1/2"), pool("p", "y", part="2/2", node="m")],
        "r=p/x",
        id="46 a pool is complete across nodes",
    ),
    pytest.param(
        [pool("p", "x", part="1/2", node="m"), pool("p", "y", part="2/2")],
        "r=p/y",
        id="47 in either order",
    ),
    pytest.param(
        [
            pool("p", "x", part="1/2", generation=1),
            pool("p", "y", part="1/2", generation=2, node="m"),
        ],
        "NONE",
        id="49 a newer generation elsewhere ends the old one",
    ),
    pytest.param(
        [
            pool("p", "x", part="1/2", generation=1),
            pool("p", "y", part="2/2", generation=1),
            pool("p", "z", part="1/2", generation=2, node="m"),
        ],
        "r=p/x",
        id="50 a newer generation elsewhere goes unnoticed while the old one is whole here",
    ),
    pytest.param(
        [
            pool("p", "v", part="1/2", generation=1, node="m"),
            pool("p", "w", part="2/2", generation=1, node="m"),
            pool("p", "x", part="1/2", generation=2),
            pool("p", "y", part="2/2", generation=2),
        ],
        "r=p/x",
        id="51 the old generation is elsewhere",
    ),
    pytest.param(
        [
            pool("p", "v", part="1/2", generation=1, node="m"),
            pool("p", "w", part="2/2", generation=1, node="m"),
            pool("p", "x", part="1/2", generation=2),
        ],
        "NONE",
        id="52 the new generation lacks a slice",
    ),
]


@pytest.mark.parametrize(("world", "expected"), COMPLETENESS)
def test_only_complete_and_valid_pools_are_used(world: Sequence[JsonObject], expected: str) -> None:
    assert answer([claim(r())], world) == expected


def test_48_all_takes_what_reaches_the_node() -> None:
    world = [pool("p", "x", part="1/2"), pool("p", "y", part="2/2", node="m")]

    assert answer([claim(every())], world) == "r=p/x"


def selector(claims: Sequence[JsonObject], world: Sequence[JsonObject], node: str = "n") -> Json:
    found = outcome(claims, world, node=node)
    assert isinstance(found, Allocated)
    return found.results[0].to_json().get("nodeSelector")


def per_device(*devices: JsonObject) -> JsonObject:
    return pool("p", *devices, node=None, part="1/1", perDeviceNodeSelection=True)


REACH = [
    pytest.param(r(), [pool("p", "x", node=None, nodeSelector=ZONE_1)], ZONE_1, id="53 zone"),
    pytest.param(
        r(count=2),
        [pool("p1", "x", node=None, nodeSelector=ZONE_1), pool("p2", "x")],
        a_node_selector("n"),
        id="56 one local device binds the claim to the node",
    ),
    pytest.param(r(), [pool("p", "x", node=None, allNodes=True)], None, id="57 all nodes"),
    pytest.param(
        r(count=2),
        [
            pool("p1", "x", node=None, nodeSelector=ZONE_1),
            pool("p2", "x", node=None, nodeSelector=ZONE_1),
        ],
        ZONE_1,
        id="58 a requirement is said once",
    ),
    pytest.param(
        r(),
        [pool("p", dev("x", bindsToNode=True), node=None, nodeSelector=ZONE_1)],
        a_node_selector("n"),
        id="59 bindsToNode",
    ),
    pytest.param(
        r(), [per_device(dev("x", nodeSelector=ZONE_1))], ZONE_1, id="62 the device's own zone"
    ),
    pytest.param(
        r(count=3),
        [
            per_device(
                dev("x", nodeSelector=ZONE_1), dev("y", nodeName="n"), dev("z", allNodes=True)
            )
        ],
        a_node_selector("n"),
        id="63 one of the devices is local",
    ),
]


@pytest.mark.parametrize(("request_", "world", "expected"), REACH)
def test_node_selector_of_the_result(
    request_: JsonObject, world: Sequence[JsonObject], expected: Json
) -> None:
    assert selector([claim(request_)], world) == expected


def test_54_a_zone_that_is_not_the_nodes() -> None:
    world = [pool("p", "x", node=None, nodeSelector=ZONE_1)]

    assert answer([claim(r())], world, node="m") == "NONE"


def test_55_requirements_of_all_devices_stand_in_one_term() -> None:
    world = [
        pool("p1", "x", node=None, nodeSelector=ZONE_1),
        pool("p2", "x", node=None, allNodes=True),
        pool("p3", "x", node=None, nodeSelector=labelled("site", "s1")),
        pool("p4", "x", node=None, nodeSelector=a_node_selector("n")),
    ]

    assert selector([claim(r(count=4))], world) == {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["z1"]},
                    {"key": "site", "operator": "In", "values": ["s1"]},
                ],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
            }
        ]
    }


def test_61_a_device_of_another_node_is_passed_over() -> None:
    least = 'device.capacity["a"].memory.compareTo(quantity("{}")) >= 0'
    request = a_prioritized_request(
        "r",
        s0=a_wish(device_class="A", selectors=[least.format("6Gi")]),
        s1=a_wish(device_class="A", selectors=[least.format("4Gi")]),
    )
    world = [
        counters("p", part="1/2", c={"mem": "18Gi"}),
        pool(
            "p",
            dev("x", mem="4Gi", nodeName="n", uses={"c": {"mem": "4Gi"}}),
            dev("y", mem="6Gi", nodeName="m", uses={"c": {"mem": "6Gi"}}),
            node=None,
            part="2/2",
            perDeviceNodeSelection=True,
        ),
    ]

    assert answer([claim(request)], world) == "r/s1=p/x"


def test_selector_error_on_a_device_of_another_node_is_fatal_all_the_same() -> None:
    world = [per_device(dev("y", nodeName="m"), dev("x", nodeName="n"))]

    assert "no such key: flag" in answer([claim(r("r", "A", 'device.attributes["a"].flag'))], world)


def test_malformed_node_selector_is_broken_input() -> None:
    broken: JsonObject = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]
    }

    found = answer([claim(r())], [pool("p", "x", node=None, nodeSelector=broken)])

    assert found.startswith(
        "FATAL: node selector of a ResourceSlice: matchExpressions: zone: expected one of In"
    )


def test_slices_beyond_the_announced_number_are_unknown_where_the_others_are_whole() -> None:
    # On n the slice with the counters is not needed to make the pool whole, so it is not seen.
    world = [
        pool("p", dev("x", uses={"c": {"mem": "1"}}), part="1/1"),
        pool(
            "p",
            part="2/1",
            node="m",
            sharedCounters=[{"name": "c", "counters": {"mem": {"value": "8"}}}],
        ),
    ]

    assert answer([claim(r())], world) == "LOCAL"


def test_devices_beside_shared_counters_do_not_count() -> None:
    both = pool(
        "p",
        "x",
        sharedCounters=[{"name": "c", "counters": {"mem": {"value": "8"}}}],
    )

    assert answer([claim(r())], [both]) == "NONE"


def test_device_with_alternatives_of_nodes_cannot_be_written_into_a_result() -> None:
    either: JsonObject = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
            for zone in ("z1", "z2")
        ]
    }
    world = [per_device(dev("x", nodeSelector=either), dev("y", nodeName="n"))]

    assert answer([claim(r())], world) == (
        "FATAL: node selector of a ResourceSlice: "
        "expected one term for the nodes of a device, got 2"
    )
    assert answer([claim(r(count=2))], world).startswith("FATAL")


def test_claim_of_a_slice_reads_back() -> None:
    found = outcome([claim(r())], [pool("p", "x")])
    assert isinstance(found, Allocated)
    allocation = found.results[0]

    stored = decode_claim({"spec": {}, "status": {"allocation": allocation.to_json()}})

    assert stored.allocation == allocation
