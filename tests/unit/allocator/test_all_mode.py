"""`dra-semantics.md` 6.4 and 6.5: allocation mode All, and admin access."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import JsonObject
from tests.builders.objects import a_prioritized_request, a_taint, a_wish
from tests.unit.allocator.worlds import answer, claim, dev, every, pool, r, used

CORDONED = dev("x", taints=[a_taint("k", "v", "NoSchedule")])


def all_or(**alternatives: JsonObject) -> JsonObject:
    return claim(a_prioritized_request("r", **alternatives))


def wish_all(device_class: str = "A", *selectors: str) -> JsonObject:
    return a_wish(device_class=device_class, selectors=list(selectors), allocationMode="All")


def of_gen(gen: str) -> str:
    return f'device.attributes["a"].gen == "{gen}"'


def gen(name: str, value: str) -> JsonObject:
    return dev(name, attributes={"gen": value})


ALL_MODE = [
    pytest.param([claim(every())], [pool("p", "x")], "r=p/x", id="64 one"),
    pytest.param(
        [claim(every())], [pool("p", "x"), pool("q", "x")], "r=p/x r=q/x", id="65 two pools"
    ),
    pytest.param([claim(every())], [pool("p")], "NONE", id="66 a slice without devices"),
    pytest.param([claim(every())], [], "NONE", id="66 no slices"),
    pytest.param(
        [claim(every())], [pool("p", "x", "y"), used("p/x")], "NONE", id="67 one of them is held"
    ),
    pytest.param(
        [claim(every())],
        [pool("p", "x", part="1/2")],
        "FATAL: claim t/c0, request r: asks for all devices, but resource pool a/p is currently "
        "being updated (1 of 2 slices of generation 1)",
        id="68 an incomplete pool",
    ),
    pytest.param(
        [claim(every())],
        [pool("p", "x"), pool("q", "y", driver="b", part="1/2")],
        "FATAL: claim t/c0, request r: asks for all devices, but resource pool b/q is currently "
        "being updated (1 of 2 slices of generation 1)",
        id="69 an incomplete pool of another driver",
    ),
    pytest.param(
        [claim(every()), claim(r("r", "B"))],
        [pool("p", "x", "y"), pool("p", "x", driver="b")],
        "r=p/x r=p/y | r=b/p/x",
        id="70 beside another claim",
    ),
    pytest.param(
        [claim(r("r", "B")), claim(every())],
        [pool("p", "x", "y"), pool("p", "x", driver="b")],
        "r=b/p/x | r=p/x r=p/y",
        id="70 after another claim",
    ),
    pytest.param([claim(r()), claim(every())], [pool("p", "x")], "NONE", id="71 one is gone"),
    pytest.param([claim(every()), claim(r())], [pool("p", "x")], "NONE", id="71 none is left"),
    pytest.param(
        [all_or(s0=wish_all(), s1=a_wish(device_class="B"))],
        [pool("p"), pool("q", "x", driver="b")],
        "r/s1=b/q/x",
        id="72 nothing to take all of",
    ),
    pytest.param(
        [all_or(s0=wish_all(), s1=a_wish(device_class="A"))],
        [pool("p", "x", "y"), used("p/x")],
        "r/s1=p/y",
        id="73 not all are free",
    ),
    pytest.param(
        [
            claim(
                r("r0"),
                a_prioritized_request("r1", s0=wish_all(), s1=a_wish(device_class="A")),
            )
        ],
        [pool("p", "x", "y")],
        "r0=p/x r1/s1=p/y",
        id="74 an earlier request took one",
    ),
    pytest.param(
        [all_or(s0=wish_all("A", of_gen("v6")), s1=wish_all("A", of_gen("v5")))],
        [
            pool("p", gen("x", "v5")),
            pool("q", gen("x", "v5")),
            pool("q2", gen("x", "v6"), node="m"),
        ],
        "r/s1=p/x r/s1=q/x",
        id="75 the better kind is elsewhere",
    ),
    pytest.param(
        [claim(every(), match=[("a/numa", [])])],
        [pool("p", dev("x", attributes={"numa": 1}), dev("y", attributes={"numa": 2}))],
        "FATAL: claim t/c0, request r: cannot add device a/p/y because a claim constraint would "
        "not be satisfied",
        id="77 all cannot match",
    ),
    pytest.param([claim(every())], [pool("p", CORDONED)], "NONE", id="78 one is tainted"),
]


@pytest.mark.parametrize(("claims", "world", "expected"), ALL_MODE)
def test_mode_all(claims: Sequence[JsonObject], world: Sequence[JsonObject], expected: str) -> None:
    assert answer(claims, world) == expected


def test_constraint_against_a_device_of_all_is_broken_input_even_if_the_device_is_full() -> None:
    full = used(
        "p/x", shareID="00000000-0000-4000-8000-000000000000", consumedCapacity={"mem": "1Gi"}
    )

    found = answer(
        [claim(every(), match=[("a/absent", [])])], [pool("p", dev("x", mem="1Gi")), full]
    )

    assert found.startswith("FATAL: claim t/c0, request r: cannot add device a/p/x")


def test_all_that_cannot_match_is_found_whichever_device_an_earlier_claim_takes() -> None:
    # To the first claim y and z are alike; only with z gone is the constraint met.
    world = [
        pool(
            "p", *(dev(name, attributes={"board": board}) for name, board in (("x", 1), ("y", 0)))
        ),
        pool("q", dev("z", attributes={"board": 0})),
    ]

    found = answer([claim(r()), claim(every(), match=[("a/board", [])])], world)

    assert found == (
        "FATAL: claim t/c1, request r: cannot add device a/p/y because a claim constraint would "
        "not be satisfied"
    )


def test_76_all_alternatives_respect_the_class() -> None:
    selected = 'device.attributes["a"].selected'
    request = all_or(
        s0=wish_all("A", selected, of_gen("v6")), s1=wish_all("A", selected, of_gen("v5"))
    )
    devices = [
        dev(name, attributes={"gen": gen_, "selected": is_selected})
        for name, gen_, is_selected in (("x", "v6", False), ("y", "v5", False), ("z", "v5", True))
    ]

    assert answer([request], [pool("p", *devices)]) == "r/s1=p/z"


ADMIN = [
    pytest.param(
        [claim(r(adminAccess=True))], [pool("p", "x"), used("p/x")], "r=p/x!", id="79 a held device"
    ),
    pytest.param(
        [claim(r(count=2, adminAccess=True))],
        [pool("p", "x", "y"), used("p/x")],
        "r=p/x! r=p/y!",
        id="80 two",
    ),
    pytest.param(
        [claim(every(adminAccess=True))],
        [pool("p", "x", "y"), used("p/x")],
        "r=p/x! r=p/y!",
        id="81 all",
    ),
    pytest.param(
        [claim(r("r0", adminAccess=True), every("r1", adminAccess=True))],
        [pool("p", "x", "y")],
        "NONE",
        id="82 not twice in one claim",
    ),
    pytest.param(
        [claim(r(adminAccess=True)), claim(r(adminAccess=True))],
        [pool("p", "x", "y")],
        "r=p/x! | r=p/x!",
        id="83 two claims get the same",
    ),
    pytest.param(
        [claim(r()), claim(r(adminAccess=True))],
        [pool("p", "x", "y")],
        "r=p/x | r=p/x!",
        id="84 admin after normal",
    ),
    pytest.param(
        [claim(r(adminAccess=True)), claim(r())],
        [pool("p", "x", "y")],
        "r=p/x! | r=p/y",
        id="85 normal after admin",
    ),
    pytest.param([claim(r(adminAccess=True))], [pool("p", CORDONED)], "NONE", id="86 a taint"),
    pytest.param(
        [claim(r())],
        [pool("p", "x"), used("p/x", adminAccess=True)],
        "r=p/x",
        id="a device held by admins alone is free",
    ),
]


@pytest.mark.parametrize(("claims", "world", "expected"), ADMIN)
def test_admin_access(
    claims: Sequence[JsonObject], world: Sequence[JsonObject], expected: str
) -> None:
    assert answer(claims, world) == expected
