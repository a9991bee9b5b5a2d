"""`dra-semantics.md` 6.6 and 6.7: what the devices of one claim have to agree on."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import a_prioritized_request, a_wish
from tests.unit.allocator.worlds import answer, claim, dev, pool, r

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
