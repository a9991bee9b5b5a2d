"""`dra-semantics.md` 6.1 and 6.2: basics, order, input errors and limits."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import JsonObject
from tests.builders.objects import a_class, a_prioritized_request, a_wish
from tests.unit.allocator.worlds import answer, claim, dev, every, outcome, pool, r, used

MEM_1 = 'device.capacity["a"].memory.compareTo(quantity("1Gi")) >= 0'
MEM_2 = 'device.capacity["a"].memory.compareTo(quantity("2Gi")) >= 0'
TYPE_X = 'device.attributes["a"].type == "X"'
BINDING: JsonObject = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


def of_type(name: str, kind: str) -> JsonObject:
    return dev(name, attributes={"type": kind})


def many(count: int, prefix: str = "x") -> list[JsonObject]:
    return [dev(f"{prefix}{index}") for index in range(count)]


def picked(request: str, pool_name: str, *names: str) -> str:
    return " ".join(f"{request}={pool_name}/{name}" for name in names)


FIRST_FIT = [
    pytest.param([], [pool("p", "x")], "", id="1 no claim is a success"),
    pytest.param([claim()], [pool("p", "x")], "", id="2 a claim without requests is allocated"),
    pytest.param([claim(r())], [pool("p", "x")], "r=p/x", id="3 one device"),
    pytest.param([claim(r())], [], "NONE", id="5 no slice, no device"),
    pytest.param([claim(r()), claim(r())], [pool("p", "x")], "NONE", id="6 all claims or none"),
    pytest.param(
        [claim(r("r0", "A", MEM_1), r("r1", "A", MEM_2))],
        [pool("p", dev("x", mem="1Gi"), dev("y", mem="2Gi"))],
        "r0=p/x r1=p/y",
        id="7 each request its own device",
    ),
    pytest.param(
        [claim(r("r0", "A", MEM_1), r("r1", "A", MEM_2))],
        [pool("p", dev("y", mem="2Gi"), dev("x", mem="1Gi"))],
        "r0=p/x r1=p/y",
        id="8 a later request moves an earlier one",
    ),
    pytest.param(
        [claim(r("r0", "A", MEM_1)), claim(r("r1", "A", MEM_2))],
        [pool("p", dev("y", mem="2Gi"), dev("x", mem="1Gi"))],
        "r0=p/x | r1=p/y",
        id="9 a later claim moves an earlier one",
    ),
    pytest.param(
        [claim(r(count=2))], [pool("p", "x"), pool("q", "x")], "r=p/x r=q/x", id="10 two pools"
    ),
    pytest.param(
        [claim(r(count=2))],
        [pool("p3", "x"), pool("p2", "x"), pool("p1", "x")],
        "r=p1/x r=p2/x",
        id="11 pools by name",
    ),
    pytest.param(
        [claim(r(count=2))],
        [
            pool("p", "z", part="1/3", slice_name="s3"),
            pool("p", "y", part="2/3", slice_name="s2"),
            pool("p", "x", part="3/3", slice_name="s1"),
        ],
        "r=p/x r=p/y",
        id="12 slices by name",
    ),
    pytest.param([claim(r())], [pool("p", "z", "a")], "r=p/z", id="13 devices as listed"),
    pytest.param(
        [claim(r(count=2))],
        [pool("p1", dev("x") | BINDING), pool("p3", "w"), pool("p2", "v")],
        "r=p2/v r=p3/w",
        id="14 pools with binding conditions last",
    ),
    pytest.param(
        [claim(r(count=2))],
        [
            pool("p", dev("x") | BINDING, part="1/3", slice_name="s1"),
            pool("p", "z", part="2/3", slice_name="s3"),
            pool("p", "y", part="3/3", slice_name="s2"),
        ],
        "r=p/x r=p/y",
        id="15 binding conditions change nothing inside a pool",
    ),
    pytest.param(
        [claim(r()), claim(r("r", "B"))],
        [pool("p", "x", "y"), pool("p", "x", driver="b")],
        "r=p/x | r=b/p/x",
        id="16 equal names of two drivers are two devices",
    ),
    pytest.param([claim(r())], [pool("p", "x"), used("p/x")], "NONE", id="17 a held device"),
    pytest.param(
        [claim(r("r1", count=2), r("r2", "A", TYPE_X))],
        [pool("p", of_type("x", "X"), of_type("y", "Y"), of_type("z", "Y"))],
        "r1=p/y r1=p/z r2=p/x",
        id="18 both devices of a request move",
    ),
    pytest.param([claim(r(count=5))], [pool("p", *many(4))], "NONE", id="19 one device short"),
    pytest.param(
        [claim(r("r", "E"))],
        [pool("p", "x", driver="b"), pool("p", "y")],
        "r=p/y",
        id="20 a class without selectors takes any device, drivers by name",
    ),
]


@pytest.mark.parametrize(("claims", "world", "expected"), FIRST_FIT)
def test_first_fit(
    claims: Sequence[JsonObject], world: Sequence[JsonObject], expected: str
) -> None:
    assert answer(claims, world) == expected


def test_4_devices_of_another_node_are_not_used() -> None:
    world = [pool("p", "x", driver="b"), pool("q", "x", node="m")]

    assert answer([claim(r())], world, node="m") == "r=q/x"
    assert answer([claim(r())], world, node="n") == "NONE"


def test_19_one_device_short_is_found_out_in_few_steps() -> None:
    assert outcome([claim(r(count=5))], [pool("p", *many(4))]).steps <= 16


LIMITS = [
    pytest.param([claim(r(count=500))], 1, "exceeds the claim limit", id="30 500 devices"),
    pytest.param(
        [claim(r("r0", count=32), r("r1"))],
        33,
        "exceeds the claim limit",
        id="31 33 in two requests",
    ),
    pytest.param(
        [claim(r(count=32))],
        32,
        picked("r", "p", *(f"x{each}" for each in range(32))),
        id="32 32 devices",
    ),
    pytest.param(
        [claim(r(count=20)), claim(r(count=20))],
        40,
        picked("r", "p", *(f"x{each}" for each in range(20)))
        + " | "
        + picked("r", "p", *(f"x{each}" for each in range(20, 40))),
        id="33 the limit is per claim",
    ),
    pytest.param(
        [
            claim(
                a_prioritized_request(
                    "r", s0=a_wish(device_class="B", count=500), s1=a_wish(device_class="A")
                )
            )
        ],
        1,
        "r/s1=p/x0",
        id="34 an alternative within the limit is enough",
    ),
    pytest.param(
        [
            claim(
                *(
                    a_prioritized_request(
                        name,
                        s0=a_wish(device_class="A", count=32),
                        s1=a_wish(device_class="A", count=16),
                    )
                    for name in ("r0", "r1")
                )
            )
        ],
        64,
        picked("r0/s1", "p", *(f"x{each}" for each in range(16)))
        + " "
        + picked("r1/s1", "p", *(f"x{each}" for each in range(16, 32))),
        id="35 the limit switches both lists",
    ),
]


@pytest.mark.parametrize(("claims", "devices", "expected"), LIMITS)
def test_limit_of_32_devices(claims: Sequence[JsonObject], devices: int, expected: str) -> None:
    slices = [
        pool("p", *many(devices)[start : start + 64], part=f"{part}/{-(-devices // 64)}")
        for part, start in enumerate(range(0, devices, 64), start=1)
    ]

    assert expected in answer(claims, slices)


def test_36_the_limit_rejects_an_all_alternative() -> None:
    request = a_prioritized_request(
        "r0",
        s0=a_wish(device_class="A", allocationMode="All"),
        s1=a_wish(device_class="A", count=2),
    )
    world = [pool("p", *many(31)), pool("p", *many(2, "y"), driver="b")]

    assert answer([claim(request, r("r1", "B", count=2))], world) == (
        "r0/s1=p/x0 r0/s1=p/x1 r1=b/p/y0 r1=b/p/y1"
    )


BROKEN = [
    pytest.param(claim(r("r", "Z")), "could not retrieve device class Z", id="21 missing class"),
    pytest.param(
        claim(r("r", "")),
        "missing device class name (unsupported request type?)",
        id="22 empty class name",
    ),
    pytest.param(
        claim(r("r", "A") | {"exactly": {"deviceClassName": "A", "selectors": [{}]}}),
        "CEL expression empty (unsupported selector type?)",
        id="23 selector without CEL",
    ),
    pytest.param(
        claim(r(allocationMode="future-mode")),
        "unsupported count mode future-mode",
        id="24 unknown mode",
    ),
    pytest.param(
        claim(r()) | {"spec": {"devices": {"requests": [r()], "constraints": [{}]}}},
        "empty constraint (unsupported constraint type?)",
        id="25 empty constraint",
    ),
    pytest.param(claim(r("r", "A", "noSuchVar")), "undeclared reference", id="26 bad selector"),
    pytest.param(
        claim(every("r", "A", "noSuchVar")), "undeclared reference", id="28 bad selector, All"
    ),
    pytest.param(
        claim(r(futureField=1)),
        "spec.devices.requests[0].exactly.futureField is not supported yet",
        id="a field that is not known is refused, not ignored",
    ),
]


@pytest.mark.parametrize(("broken", "expected"), BROKEN)
def test_broken_input_is_told_apart_from_no_fit(broken: JsonObject, expected: str) -> None:
    found = answer([broken], [pool("p", "x")])

    assert found.startswith("FATAL")
    assert expected in found


def test_27_a_bad_selector_of_a_class() -> None:
    broken_class = a_class("broken", selectors=["noSuchVar"])

    found = answer([claim(r("r", "broken"))], [pool("p", "x"), broken_class])

    assert found.startswith("FATAL: class broken: selector #0: CEL compile error: ")
    assert "undeclared reference" in found


def test_a_field_of_a_class_that_is_not_known_is_refused_not_ignored() -> None:
    newer = a_class("newer", selectors=[], future=["narrower"])

    found = answer([claim(r("r", "newer"))], [pool("p", "x"), newer])

    assert found.startswith("FATAL")
    assert "spec.future of class newer is not supported yet" in found


def test_29_a_bad_selector_goes_unnoticed_without_devices() -> None:
    assert answer([claim(r("r", "A", "noSuchVar"))], []) == "NONE"


def test_selector_that_fails_on_a_held_device_goes_unnoticed() -> None:
    needs_flag = 'device.attributes["a"].flag'
    world = [pool("p", "x", dev("y", attributes={"flag": True})), used("p/x")]

    assert answer([claim(r("r", "A", needs_flag))], world) == "r=p/y"
