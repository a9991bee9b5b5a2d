"""`dra-semantics.md` 6.6 and 6.7: what the devices of one claim have to agree on."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import Feature
from tests.builders.objects import a_prioritized_request, a_wish
from tests.unit.allocator.worlds import answer, claim, dev, pool, r, with_gates

LEAST = 'device.capacity["a"].memory.compareTo(quantity("{}")) >= 0'


def having(name: str, mem: str | None = None, **attributes: Json) -> JsonObject:
    return dev(name, mem=mem, attributes=attributes)


def version(text: str) -> Json:
    return {"version": text}


def least(mem: str) -> str:
    return LEAST.format(mem)


ALIKE: dict[str, Json] = {"i": 1, "v": version("1.0.0"), "s": "x", "b": True}
BIG_AND_SMALL = [
    r("r0", "A", least("8Gi")),
    a_prioritized_request(
        "r1",
        s0=a_wish(device_class="A", selectors=[least("2Gi")]),
        s1=a_wish(device_class="A", selectors=[least("1Gi")]),
    ),
]

MATCH = [
    pytest.param(
        claim(r("r0"), r("r1"), match=[(f"a/{name}", []) for name in ALIKE]),
        [pool("p", dev("x", attributes=ALIKE), dev("y", attributes=ALIKE))],
        "r0=p/x r1=p/y",
        id="87 every kind of value",
    ),
    pytest.param(claim(r(), match=[("a/none", [])]), [pool("p", "x")], "NONE", id="88 absent"),
    *(
        pytest.param(
            claim(r(count=2), match=[("a/k", [])]),
            [pool("p", having("x", k=left), having("y", k=right))],
            "NONE",
            id=f"89 different values: {left} and {right}",
        )
        for left, right in (
            (1, 2),
            ("x", "y"),
            (True, False),
            (version("1.0.0"), version("1.0.0+a")),
            (1, True),
            ("1.0.0", version("1.0.0")),
        )
    ),
    pytest.param(
        claim(r("r0"), r("r1"), match=[("a/v", ["r0"])]),
        [pool("p", having("x", v=version("1.0.0")), having("y", v=version("2.0.0")))],
        "r0=p/x r1=p/y",
        id="90 a constraint that covers one request",
    ),
    pytest.param(
        claim(r("r0"), r("r1"), match=[("a/v", ["r0"]), ("a/s", [])]),
        [
            pool(
                "p",
                having("x", v=version("1.0.0"), s="a"),
                having("y", v=version("2.0.0"), s="b"),
                having("z", v=version("3.0.0"), s="b"),
            )
        ],
        "r0=p/y r1=p/z",
        id="91 two constraints",
    ),
    pytest.param(
        claim(r(count=2), match=[("a/numa", [])]),
        [pool("p", having("x", numa=1), dev("y", attributes={"a/numa": 1}))],
        "r=p/x r=p/y",
        id="92 a bare name belongs to the driver's domain",
    ),
    pytest.param(
        claim(r(), match=[("other.io/numa", [])]),
        [pool("p", having("x", numa=1))],
        "NONE",
        id="93 and to no other",
    ),
    pytest.param(
        claim(*BIG_AND_SMALL, match=[("a/v", ["r0", "r1"])]),
        [
            pool("p", having("x", "8Gi", v=version("1.0.0"))),
            pool(
                "q", having("y", "2Gi", v=version("2.0.0")), having("z", "1Gi", v=version("1.0.0"))
            ),
        ],
        "r0=p/x r1/s1=q/z",
        id="94 whichever alternative is taken",
    ),
    pytest.param(
        claim(*BIG_AND_SMALL, match=[("a/v", ["r0", "r1/s0"])]),
        [
            pool("p", having("x", "8Gi", v=version("1.0.0"))),
            pool("q", having("y", "2Gi", v=version("2.0.0"))),
        ],
        "r0=p/x r1/s1=q/y",
        id="95 one alternative alone",
    ),
    pytest.param(
        claim(r(count=2), match=[("a/s", [])]),
        [pool("p", having("x", s={"strings": ["v"]}), having("y", s={"strings": ["v"]}))],
        "NONE",
        id="108 lists, whose gate is off, match nothing",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), MATCH)
def test_match_attribute(asked: JsonObject, world: Sequence[JsonObject], expected: str) -> None:
    assert answer([asked], world) == expected


DISTINCT = [
    pytest.param(
        claim(r("r0"), distinct=[("a/b", ["r0"])]), [pool("p", "x")], "NONE", id="97 absent"
    ),
    pytest.param(
        claim(r(), distinct=[("a/s", [])]),
        [pool("p", having("x", s={}))],
        "FATAL: class A: selector #0 on device a/p/x: CEL runtime error: attribute s: unsupported "
        "attribute value",
        id="98 an attribute without a value",
    ),
    pytest.param(
        claim(r("r0"), r("r1"), distinct=[("a/s", [])]),
        [pool("p", having("x", s="1"), part="1/2"), pool("p", having("y", s="1"), part="2/2")],
        "NONE",
        id="equal values of two slices",
    ),
    pytest.param(
        claim(r("r0"), r("r1"), distinct=[("a/s", [])]),
        [pool("p", having("x", s="1"), having("y", s="1"), having("z", s="2"))],
        "r0=p/x r1=p/z",
        id="the next different one",
    ),
    pytest.param(
        claim(r(count=3), distinct=[("a/s", [])]),
        [pool("p", having("x", s="1"), having("y", s="2"), having("z", s="1"))],
        "NONE",
        id="102 all devices of a request differ, as documented",
    ),
    pytest.param(
        claim(r(count=2), distinct=[("a/s", [])]),
        [pool("p", having("x", s={"strings": ["1"]}), having("y", s={"strings": ["2"]}))],
        "NONE",
        id="111 lists, whose gate is off, are never distinct",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), DISTINCT)
def test_distinct_attribute(asked: JsonObject, world: Sequence[JsonObject], expected: str) -> None:
    assert answer([asked], world) == expected


def shareable(name: str, **attributes: Json) -> JsonObject:
    return dev(name, attributes=attributes, allowMultipleAllocations=True)


def test_99_one_shared_device_is_not_distinct_from_itself() -> None:
    asked = claim(r("r0", "As"), r("r1", "As"), distinct=[("a/s", [])])

    assert answer([asked], [pool("p", shareable("x", s="1"))]) == "NONE"


def test_100_shared_devices_that_differ() -> None:
    capacity: JsonObject = {"capacity": {"k": {"value": "4"}}}
    wanted: JsonObject = {"requests": {"k": "2"}}
    asked = claim(
        r("r0", "As", capacity=wanted), r("r1", "As", capacity=wanted), distinct=[("a/s", [])]
    )
    world = [
        pool("p", shareable("x", s="1") | capacity, part="1/2"),
        pool("p", shareable("y", s="2") | capacity, part="2/2"),
    ]

    assert answer([asked], world) == "r0=p/x~{k:2} r1=p/y~{k:2}"


def test_96_distinct_over_shared_devices() -> None:
    devices = [
        shareable(name, b=b, v=version(v), i=i)
        for name, b, v, i in (
            ("x", True, "1.0.0", 0),
            ("y", False, "1.0.1", 1),
            ("z", True, "1.0.2", 2),
            ("w", True, "1.0.0", 3),
        )
    ]
    requests = [r(f"r{index}", "As") for index in range(4)]
    asked = claim(
        *requests,
        distinct=[
            ("a/b", ["r0", "r1"]),
            ("a/v", ["r0", "r1", "r2"]),
            ("a/i", ["r0", "r1", "r2", "r3"]),
        ],
    )

    assert answer([asked], [pool("p", *devices)]) == "r0=p/x~ r1=p/y~ r2=p/z~ r3=p/w~"


LISTS = with_gates(Feature.LIST_TYPE_ATTRIBUTES)
"""Kinds of list, and values of the kind to put in."""
KINDS: dict[str, list[Json]] = {
    "ints": [0, 1, 2, 3, 4],
    "strings": ["0", "1", "2", "3", "4"],
    "versions": ["0.0.0", "1.0.0", "2.0.0", "3.0.0", "4.0.0"],
}


def listing(*lists: int | list[int], kind: str = "ints") -> list[JsonObject]:
    """Build a pool of devices `d0`, `d1`, ... with one value each; a bare number is a scalar."""
    values = KINDS[kind]
    attributes: list[Json] = [
        {kind: [values[each] for each in entry]}
        if isinstance(entry, list)
        else {kind.removesuffix("s"): values[entry]}
        for entry in lists
    ]
    return [
        pool("p", *(dev(f"d{at}", attributes={"s": each}) for at, each in enumerate(attributes)))
    ]


def matching(count: int) -> JsonObject:
    return claim(r(count=count), match=[("a/s", [])])


def differing(count: int) -> JsonObject:
    return claim(r(count=count), distinct=[("a/s", [])])


OVER_LISTS = [
    *(
        pytest.param(
            matching(2), listing([1, 2, 3], [2, 3, 4], kind=kind), "r=p/d0 r=p/d1", id=f"103 {kind}"
        )
        for kind in KINDS
    ),
    pytest.param(matching(3), listing([1, 2], [2, 3], [3, 1]), "NONE", id="104 only in pairs"),
    pytest.param(matching(2), listing([1, 2], [3, 4]), "NONE", id="105 nothing in common"),
    pytest.param(matching(2), listing(1, [1, 2]), "r=p/d0 r=p/d1", id="106 scalar and list"),
    pytest.param(matching(3), listing(1, [1, 2], [2, 3]), "NONE", id="107 a scalar narrows"),
    pytest.param(
        differing(2), listing([1, 2], [2, 3], [3, 4]), "r=p/d0 r=p/d2", id="109 disjoint lists"
    ),
    pytest.param(
        differing(2), listing(1, [1, 2], [2, 3]), "r=p/d0 r=p/d2", id="110 scalar and lists"
    ),
    pytest.param(differing(2), listing(1, [1, 2]), "NONE", id="110 a scalar in a list"),
    pytest.param(
        matching(2),
        listing([1, 2], [3], [2, 3], [1]),
        "r=p/d0 r=p/d2",
        id="the next that has something in common",
    ),
    pytest.param(
        claim(r("r0", count=2), r("r1", "A", '3 in device.attributes["a"].s'), match=[("a/s", [])]),
        listing([1, 2, 3], [1, 2], [1, 3], [1, 3]),
        "r0=p/d0 r0=p/d1 r1=p/d2",
        id="what all have in common is enough",
    ),
    pytest.param(
        matching(3),
        listing([1, 2], [1, 3], [2, 3], [2, 4]),
        "r=p/d0 r=p/d2 r=p/d3",
        id="undoing a device widens what is in common again",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), OVER_LISTS)
def test_constraints_over_lists(
    asked: JsonObject, world: Sequence[JsonObject], expected: str
) -> None:
    assert answer([asked], world, rules=LISTS) == expected


def test_103_lists_of_booleans_match() -> None:
    world = [pool("p", having("x", s={"bools": [True, False]}), having("y", s={"bools": [True]}))]

    assert answer([matching(2)], world, rules=LISTS) == "r=p/x r=p/y"


def test_values_of_different_kinds_have_nothing_in_common() -> None:
    world = [pool("p", having("x", s={"strings": ["1"]}), having("y", s={"ints": [1]}))]

    assert answer([matching(2)], world, rules=LISTS) == "NONE"
    assert answer([differing(2)], world, rules=LISTS) == "r=p/x r=p/y"


def test_111_scalar_differs_from_a_list_whose_gate_is_off_if_the_list_came_first() -> None:
    list_first = [pool("p", having("x", s={"ints": [1]}), having("y", s=1))]
    list_last = [pool("p", having("x", s=1), having("y", s={"ints": [1]}))]

    assert answer([differing(2)], list_first) == "r=p/x r=p/y"
    assert answer([differing(2)], list_last) == "NONE"


def test_101_distinct_moves_to_an_alternative() -> None:
    requests = [
        a_prioritized_request(
            f"r{index}",
            s0=a_wish(device_class="As", selectors=['device.attributes["a"].b']),
            s1=a_wish(device_class="As"),
        )
        for index in range(3)
    ]
    asked = claim(*requests, distinct=[("a/b", ["r0", "r1"])])

    world = [pool("p", shareable("x", b=True), shareable("y", b=False))]

    assert answer([asked], world) == "r0/s0=p/x~ r1/s1=p/y~ r2/s0=p/x~"
