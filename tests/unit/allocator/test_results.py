"""`dra-semantics.md` 6.8, 6.9, 6.10 and 6.13: alternatives, configuration, taints, copies."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.search import Allocated, allocate
from tests.builders.objects import (
    a_class,
    a_prioritized_request,
    a_taint,
    a_taint_rule,
    a_wish,
)
from tests.unit.allocator.worlds import answer, claim, dev, outcome, pool, r, snapshot

LEAST = 'device.capacity["a"].memory.compareTo(quantity("{}")) >= 0'


def wish(device_class: str = "A", *selectors: str, **fields: Json) -> JsonObject:
    return a_wish(device_class=device_class, selectors=list(selectors)) | fields


def least(mem: str) -> str:
    return LEAST.format(mem)


def is_type(kind: str) -> str:
    return f'device.attributes["a"].type == "{kind}"'


PRIORITIZED = [
    pytest.param(
        claim(a_prioritized_request("r", s0=wish("B"), s1=wish())),
        [pool("p", "x")],
        "r/s1=p/x",
        id="121 the second",
    ),
    pytest.param(
        claim(a_prioritized_request("r", s0=wish("B", count=2), s1=wish(count=2))),
        [pool("p", "x"), pool("p", "x", driver="b")],
        "NONE",
        id="122 alternatives are not mixed",
    ),
    pytest.param(
        claim(
            r("r0", "A", least("1Gi")),
            a_prioritized_request(
                "r1", s0=wish("A", least("4Gi")), s1=wish("A", least("2Gi"), count=2)
            ),
        ),
        [pool("p", dev("x", mem="2Gi"), dev("y", mem="2Gi"), dev("z", mem="1Gi"))],
        "r0=p/z r1/s1=p/x r1/s1=p/y",
        id="123 an earlier request makes room",
    ),
    pytest.param(
        claim(
            r("r1", "A", least("8Gi")),
            a_prioritized_request("r0", s0=wish("A", least("8Gi")), s1=wish("A", least("4Gi"))),
        ),
        [pool("p", dev("x", mem="8Gi")), pool("q", dev("y", mem="4Gi"))],
        "r1=p/x r0/s1=q/y",
        id="124 the first alternative is taken away",
    ),
    pytest.param(
        claim(
            a_prioritized_request("r0", s0=wish("A", least("8Gi")), s1=wish("A", least("4Gi"))),
            r("r1", "A", least("8Gi")),
        ),
        [pool("p", dev("x", mem="8Gi")), pool("q", dev("y", mem="4Gi"))],
        "r0/s1=q/y r1=p/x",
        id="125 a later request forces the fallback",
    ),
    pytest.param(
        claim(
            a_prioritized_request("r1", s0=wish("A", is_type("Y"), count=3), s1=wish(count=2)),
            a_prioritized_request("r2", s0=wish(count=2), s1=wish("A", is_type("X"))),
        ),
        [
            pool(
                "p",
                *(
                    dev(name, attributes={"type": kind})
                    for name, kind in (("x", "X"), ("y", "Y"), ("z", "Y"))
                ),
            )
        ],
        "r1/s1=p/y r1/s1=p/z r2/s1=p/x",
        id="126 two lists",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), PRIORITIZED)
def test_prioritized_list(asked: JsonObject, world: Sequence[JsonObject], expected: str) -> None:
    assert answer([asked], world) == expected


def opaque(mode: str, *requests: str) -> JsonObject:
    config: JsonObject = {"opaque": {"driver": "a", "parameters": {"mode": mode}}}
    return config | ({"requests": [*requests]} if requests else {})


CONFIGURED = [
    a_class("CA", driver="a", config=[opaque("class-a")]),
    a_class("CB", driver="b", config=[opaque("class-b")]),
]


def config_of(asked: JsonObject, world: Sequence[JsonObject]) -> list[tuple[str, str, list[str]]]:
    """List source, mode and requests of each entry."""
    found = outcome([asked], [*world, *CONFIGURED])
    assert isinstance(found, Allocated)
    return [
        (
            entry.source.value,
            str(entry.opaque.parameters["mode"])
            if isinstance(entry.opaque.parameters, dict)
            else "",
            list(entry.requests),
        )
        for entry in found.results[0].config
    ]


CONFIG = [
    pytest.param(
        claim(r("r", "CA")),
        [pool("p", "x")],
        [("FromClass", "class-a", [])],
        id="112 one class for all requests",
    ),
    pytest.param(
        claim(r("r0", "CA"), r("r1", "CA"), r("r2", "CB")),
        [pool("p", "x", "y"), pool("p", "x", driver="b")],
        [("FromClass", "class-a", ["r0", "r1"]), ("FromClass", "class-b", ["r2"])],
        id="113 two classes",
    ),
    pytest.param(
        claim(r(), config=[opaque("m")]),
        [pool("p", "x")],
        [("FromClaim", "m", [])],
        id="114 claim config for all",
    ),
    pytest.param(
        claim(r("r0"), r("r1"), r("r2"), config=[opaque("m", "r0", "r1")]),
        [pool("p", "x", "y", "z")],
        [("FromClaim", "m", ["r0", "r1"])],
        id="115 claim config for some",
    ),
    pytest.param(
        claim(
            a_prioritized_request("r", s0=wish(), s1=wish("B", count=2)),
            config=[opaque("foo", "r/s0"), opaque("bar", "r/s1")],
        ),
        [pool("p", "x", "y", driver="b")],
        [("FromClaim", "bar", [])],
        id="116 config of the chosen alternative",
    ),
    pytest.param(
        claim(a_prioritized_request("r", s0=wish("CA", count=2), s1=wish("CB", count=2))),
        [pool("p", "x", "y", driver="b"), pool("p", "x")],
        [("FromClass", "class-b", [])],
        id="117 class config of the chosen alternative",
    ),
    pytest.param(
        claim(
            a_prioritized_request("r0", s0=wish(), s1=wish("B")),
            r("r1"),
            config=[opaque("m", "r0/s0", "r0/s1")],
        ),
        [pool("p", "x", "y")],
        [("FromClaim", "m", ["r0/s0", "r0/s1"])],
        id="118 names are kept as they were",
    ),
    pytest.param(
        claim(
            a_prioritized_request("r0", s0=wish(), s1=wish("B")),
            r("r1"),
            config=[opaque("m", "r0/s0", "r1")],
        ),
        [pool("p", "x", "y")],
        [("FromClaim", "m", [])],
        id="119 all requests are named",
    ),
    pytest.param(
        claim(r("r", "CA"), config=[opaque("m")]),
        [pool("p", "x")],
        [("FromClass", "class-a", []), ("FromClaim", "m", [])],
        id="120 class before claim",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), CONFIG)
def test_config_of_the_result(
    asked: JsonObject, world: Sequence[JsonObject], expected: list[tuple[str, str, list[str]]]
) -> None:
    assert config_of(asked, world) == expected


def tainted(name: str, value: str, effect: str) -> JsonObject:
    return dev(name, taints=[a_taint("k", value, effect)])


BAD_AND_WORSE = pool("p", tainted("x", "v1", "NoSchedule"), tainted("y", "v2", "NoExecute"))
TOLERATES_V2: JsonObject = {
    "key": "k",
    "operator": "Equal",
    "value": "v2",
    "effect": "NoExecute",
}
BOTH = dev("x", taints=[a_taint("k", "v1", "NoSchedule"), a_taint("k", "v2", "NoExecute")])

TAINTS = [
    pytest.param(claim(r()), [BAD_AND_WORSE], "NONE", id="127 both effects keep away"),
    pytest.param(
        claim(r(tolerations=[TOLERATES_V2])), [BAD_AND_WORSE], "r=p/y", id="128 one is tolerated"
    ),
    pytest.param(
        claim(r(tolerations=[{"operator": "Exists"}])),
        [pool("p", BOTH)],
        "r=p/x",
        id="129 every taint is tolerated",
    ),
    pytest.param(
        claim(r(tolerations=[TOLERATES_V2])),
        [pool("p", BOTH)],
        "NONE",
        id="129 each taint needs its own toleration",
    ),
    pytest.param(
        claim(r()),
        [pool("p", tainted("x", "v", "None"))],
        "r=p/x",
        id="130 effect None keeps nobody away",
    ),
    pytest.param(
        claim(r()),
        [pool("p", tainted("x", "v", "Future"))],
        "r=p/x",
        id="130 an unknown effect keeps nobody away",
    ),
    pytest.param(
        claim(a_prioritized_request("r", s0=wish(), s1=wish(tolerations=[TOLERATES_V2]))),
        [BAD_AND_WORSE],
        "r/s1=p/y",
        id="131 a tolerant alternative",
    ),
    pytest.param(
        claim(r()),
        [pool("p", "x", "y"), a_taint_rule(driver="a", pool="p", device="x")],
        "r=p/y",
        id="133 a rule for one device",
    ),
    pytest.param(
        claim(r()),
        [pool("p", "x"), a_taint_rule()],
        "NONE",
        id="a rule with an empty selector covers every device",
    ),
    pytest.param(
        claim(r()),
        [pool("p", "x"), a_taint_rule(deviceClassName="A")],
        "r=p/x",
        id="a rule of an old alpha is not read as a broader one",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), TAINTS)
def test_taints(asked: JsonObject, world: Sequence[JsonObject], expected: str) -> None:
    assert answer([asked], world) == expected


def test_tolerations_and_binding_conditions_are_copied_into_the_result() -> None:
    bound = dev(
        "x",
        bindingConditions=["ready"],
        bindingFailureConditions=["failed"],
        taints=[a_taint("k", "v2", "NoExecute")],
    )
    state = snapshot(pool("p", bound))
    asked = decode_claim(claim(r(tolerations=[TOLERATES_V2])))

    found = allocate(state, [asked], node=state.nodes[0])

    assert isinstance(found, Allocated)
    assert found.results[0].to_json()["devices"] == {
        "results": [
            {
                "request": "r",
                "driver": "a",
                "pool": "p",
                "device": "x",
                "tolerations": [TOLERATES_V2],
                "bindingConditions": ["ready"],
                "bindingFailureConditions": ["failed"],
            }
        ]
    }


def test_180_only_the_device_with_conditions_carries_them() -> None:
    bound = dev("y", bindingConditions=["ready"], bindingFailureConditions=["failed"])

    found = outcome([claim(r("r0"), r("r1"))], [pool("p", "x", bound)])

    assert isinstance(found, Allocated)
    assert [each.binding_conditions for each in found.results[0].results] == [(), ("ready",)]


def test_181_a_pool_with_conditions_comes_after_the_others() -> None:
    kinds = {name: {"type": kind} for name, kind in (("x", "X"), ("y", "Y"), ("z", "Y"))}
    world = [
        pool("p", dev("x", attributes={**kinds["x"]}), part="1/2", slice_name="s1"),
        pool("p", dev("y", attributes={**kinds["y"]}), part="2/2", slice_name="s2"),
        pool(
            "q",
            dev(
                "z",
                attributes={**kinds["z"]},
                bindingConditions=["ready"],
                bindingFailureConditions=["failed"],
            ),
        ),
    ]

    asked = claim(r("r1", count=2), r("r2", "A", is_type("X")))

    assert answer([asked], world) == "r1=p/y r1=q/z r2=p/x"
