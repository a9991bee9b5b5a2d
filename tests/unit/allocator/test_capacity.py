"""`dra-semantics.md` 6.12: consumable capacity. `~` marks a share, braces what it consumes."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.search import Allocated
from tests.builders.objects import a_prioritized_request, a_wish
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


def shared(name: str, policy: Json = None, /, **capacity: int) -> JsonObject:
    """Build a shareable device; the policy is that of every capacity."""
    extra: JsonObject = {"requestPolicy": policy} if policy else {}
    body: JsonObject = {key: {"value": str(value), **extra} for key, value in capacity.items()}
    return dev(name) | {"capacity": body, "allowMultipleAllocations": True}


def dedicated(name: str, **capacity: int) -> JsonObject:
    return shared(name, **capacity) | {"allowMultipleAllocations": False}


def cap(**amounts: int) -> JsonObject:
    return {"requests": {name: str(amount) for name, amount in amounts.items()}}


def consumed(device: str, **amounts: int) -> JsonObject:
    """Build an allocated claim that holds a share of the device."""
    return used(
        device,
        shareID="11111111-1111-4111-8111-111111111111",
        consumedCapacity={name: str(amount) for name, amount in amounts.items()},
    )


def a_range(least: int, most: int | None = None, step: int | None = None) -> JsonObject:
    bounds: JsonObject = {"min": str(least)}
    if most is not None:
        bounds["max"] = str(most)
    if step is not None:
        bounds["step"] = str(step)
    return {"default": str(least), "validRange": bounds}


def values(*valid: int) -> JsonObject:
    return {"default": str(valid[0]), "validValues": [str(each) for each in valid]}


BY_TWO = a_range(2, 4, 2)
TWICE = [claim(r("r", "As")), claim(r("r", "As"))]
TABLE = [
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", j=1))],
        "NONE",
        id="151 no such capacity",
    ),
    pytest.param(
        [claim(every("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", j=1))],
        "NONE",
        id="151 no such capacity, All",
    ),
    pytest.param(TWICE, [pool("p", shared("x"))], "r=p/x~ | r=p/x~", id="152 no capacity at all"),
    pytest.param(
        TWICE,
        [pool("p", shared("x", k=1), shared("y", k=1))],
        "r=p/x~{k:1} | r=p/y~{k:1}",
        id="153 without request and policy the whole",
    ),
    pytest.param(TWICE, [pool("p", shared("x", k=2))], "NONE", id="154 the whole, twice"),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1)))] * 2,
        [pool("p", shared("x", k=2))],
        "r=p/x~{k:1} | r=p/x~{k:1}",
        id="155 half each",
    ),
    pytest.param(
        TWICE,
        [pool("p", shared("x", BY_TWO, k=4))],
        "r=p/x~{k:2} | r=p/x~{k:2}",
        id="156 the default each",
    ),
    pytest.param(
        TWICE,
        [pool("p", shared("x", values(0), k=1))],
        "r=p/x~{k:0} | r=p/x~{k:0}",
        id="157 a default of zero",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", values(0), k=1))],
        "NONE",
        id="158 no valid value",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1)))] * 2,
        [pool("p", shared("x", BY_TWO, k=4))],
        "r=p/x~{k:2} | r=p/x~{k:2}",
        id="159 rounded up to the minimum",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=3)))],
        [pool("p", shared("x", BY_TWO, k=4))],
        "r=p/x~{k:4}",
        id="160 rounded up to a step",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", values(1, 2), k=4))],
        "r=p/x~{k:2}",
        id="161 a valid value",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", values(1, 3), k=3))],
        "r=p/x~{k:3}",
        id="161 the next valid value",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1))), claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", a_range(2, 2), k=2))],
        "NONE",
        id="162 rounding makes it too much",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=6)))],
        [pool("p", shared("x", a_range(2, 4), k=10))],
        "NONE",
        id="163 above the maximum",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", k=4)), consumed("p/x", k=2)],
        "r=p/x~{k:2}",
        id="164 what is left is enough",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", k=2), shared("y", k=2)), consumed("p/x", k=2)],
        "r=p/y~{k:2}",
        id="164 the next one has some left",
    ),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", k=2)), consumed("p/x", k=2)],
        "NONE",
        id="164 nothing is left",
    ),
    pytest.param(
        [
            claim(
                a_prioritized_request(
                    "r",
                    s0=a_wish(device_class="As", capacity=cap(k=4)),
                    s1=a_wish(device_class="As", capacity=cap(k=2)),
                )
            )
        ],
        [pool("p", shared("x", k=2))],
        "r/s1=p/x~{k:2}",
        id="166 an alternative with less",
    ),
    pytest.param(
        [claim(every("r", "As", capacity=cap(k=2)))],
        [pool("p", shared("x", k=2), shared("y"))],
        "r=p/x~{k:2}",
        id="167 All leaves out what has no such capacity",
    ),
    pytest.param(
        [claim(r("r0", "As", capacity=cap(k=1)), every("r1", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", k=2), shared("y", k=1))],
        "r0=p/x~{k:1} r1=p/x~{k:1} r1=p/y~{k:1}",
        id="168 All beside another request",
    ),
    pytest.param(
        [claim(r("r0", "As", capacity=cap(k=1)), every("r1", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", k=1), shared("y", k=1))],
        "NONE",
        id="169 All does not leave out what another request takes",
    ),
    pytest.param(
        [claim(every("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", k=2), shared("y", k=1)), consumed("p/x", k=1)],
        "r=p/x~{k:1} r=p/y~{k:1}",
        id="170 All takes what is left of a device",
    ),
    pytest.param(
        [claim(every("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", k=1), shared("y", k=1)), consumed("p/x", k=1)],
        "NONE",
        id="170 All does not leave out what is used up, since 1.37",
    ),
    pytest.param(
        [claim(r("r", "Ad", capacity=cap(k=1)))],
        [pool("p", dedicated("x", k=1))],
        "r=p/x",
        id="171 a dedicated device that is large enough",
    ),
    pytest.param(
        [claim(r("r", "Ad", capacity=cap(k=1)))] * 2,
        [pool("p", dedicated("x", k=1))],
        "NONE",
        id="172 a dedicated device goes once",
    ),
    pytest.param([claim(r("r", "Ad"))], [pool("p", shared("x"))], "NONE", id="173 the selector"),
    pytest.param(
        [claim(r("r", "As", capacity=cap(k=1)))],
        [pool("p", shared("x", k=2)), used("p/x")],
        "NONE",
        id="174 held exclusively",
    ),
    pytest.param(
        [claim(r("r", "As", count=2, capacity=cap(k=1)))],
        [pool("p", shared("x", k=4))],
        "NONE",
        id="175 two devices of a request are two",
    ),
]


@pytest.mark.parametrize(("claims", "world", "expected"), TABLE)
def test_consumable_capacity(
    claims: Sequence[JsonObject], world: Sequence[JsonObject], expected: str
) -> None:
    assert answer(claims, world) == expected


def test_165_a_constraint_keeps_shares_together() -> None:
    asked = [
        claim(
            r("r0", "As", capacity=cap(k=2)),
            r("r1", "As", capacity=cap(k=2)),
            match=[("a/s", [])],
        ),
        claim(r("r", "As", capacity=cap(k=2))),
    ]
    y = shared("y", k=2) | {"attributes": {"s": {"string": "s1"}}}
    x = shared("x", k=4) | {"attributes": {"s": {"string": "s2"}}}

    assert answer(asked, [pool("p", y, x)]) == "r0=p/x~{k:2} r1=p/x~{k:2} | r=p/y~{k:2}"


def share(name: str, mode: str, **amounts: int) -> JsonObject:
    """Build a shareable partition that draws on counter set `c`."""
    return shared(name) | {
        "attributes": {"mode": {"string": mode}},
        "consumesCounters": [
            {
                "counterSet": "c",
                "counters": {key: {"value": str(value)} for key, value in amounts.items()},
            }
        ],
    }


def test_177_counters_of_a_shared_device_are_held_by_its_sharers() -> None:
    world = [
        counters("p", part="1/2", c={"one": "1"}),
        pool("p", share("x", "a", one=1), share("y", "b", one=1), part="2/2"),
        consumed("p/x"),
    ]

    is_mode = 'device.attributes["a"].mode == "{}"'

    assert answer([claim(r("r", "As", is_mode.format("b")))], world) == "NONE"
    assert answer([claim(r("r", "As", is_mode.format("a")))], world) == "r=p/x~"


def partition(name: str, *, policy: Json = None, **amounts: int) -> JsonObject:
    """Build a shareable partition whose capacities are what it draws from sets of their names."""
    body: JsonObject = {
        key: {"value": str(value), **({"requestPolicy": policy} if policy and key == "j" else {})}
        for key, value in amounts.items()
    }
    return dev(name) | {
        "capacity": body,
        "allowMultipleAllocations": True,
        "consumesCounters": [
            {"counterSet": f"set-{key}", "counters": {key: {"value": str(value)}}}
            for key, value in amounts.items()
        ],
    }


def at_least(capacity: str, amount: int) -> str:
    return f'device.capacity["a"].{capacity}.compareTo(quantity("{amount}")) >= 0'


def test_176_partitions_that_are_shared_draw_on_counters() -> None:
    world = [
        counters("p", part="1/2", **{"set-mem": {"mem": "8"}}),
        pool(
            "p",
            partition("x", mem=4),
            partition("y", mem=6),
            partition("z", mem=4),
            part="2/2",
        ),
    ]
    asked = claim(
        r("r0", "As"),
        a_prioritized_request(
            "r1",
            s0=a_wish(device_class="As", selectors=[at_least("mem", 6)]),
            s1=a_wish(device_class="As", selectors=[at_least("mem", 4)]),
        ),
    )

    assert answer([asked], world) == "r0=p/x~{mem:4} r1/s1=p/z~{mem:4}"


def test_178_shares_of_partitions() -> None:
    policy = a_range(2, 4)
    world = [
        counters("p", part="1/2", **{"set-k": {"k": "4"}, "set-j": {"j": "8"}}),
        pool(
            "p",
            partition("x", policy=policy, k=2, j=4),
            partition("y", policy=policy, k=4, j=4),
            partition("z", policy=policy, k=2, j=4),
            part="2/2",
        ),
    ]
    asked = claim(
        r("r0", "As", capacity=cap(k=1)),
        r("r2", "As", capacity=cap(k=2)),
        a_prioritized_request(
            "r1",
            s0=a_wish(device_class="As", selectors=[at_least("k", 4)], capacity=cap(k=1)),
            s1=a_wish(device_class="As", selectors=[at_least("k", 2)], capacity=cap(k=1)),
        ),
    )

    assert answer([asked], world) == ("r0=p/x~{j:2,k:1} r2=p/z~{j:2,k:2} r1/s1=p/x~{j:2,k:1}")


def test_every_share_has_an_id_of_its_own() -> None:
    found = outcome(TWICE, [pool("p", shared("x"))])

    assert isinstance(found, Allocated)
    ids = [result.results[0].share_id for result in found.results]
    assert len(set(ids)) == 2
    assert None not in ids


def test_device_that_was_shared_once_does_not_stand_for_its_equals() -> None:
    world = [pool("p", dedicated("x", k=1), dedicated("y", k=1)), consumed("p/x", k=1)]

    assert answer([claim(r("r", "Ad"))], world) == "r=p/y"
