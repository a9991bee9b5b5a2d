"""`dra-semantics.md` 6.11: partitions that draw on shared counters; and the ledger's laws."""

from collections.abc import Sequence

import pytest
from hypothesis import given

from dra_console.allocator.model import JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.counters import CounterLedger, Draw, Shortage
from tests.builders.objects import a_prioritized_request, a_taint, a_wish
from tests.builders.strategies import draws
from tests.unit.allocator.worlds import answer, claim, counters, dev, every, pool, r, used

MEMORY = ("gpu-0", "memory")
SLICES = ("gpu-0", "slices")
LEAST = 'device.capacity["a"].memory.compareTo(quantity("{}")) >= 0'


def part(name: str, mem: int, counter_set: str = "c") -> JsonObject:
    """Build a partition whose capacity is what it draws."""
    return dev(name, mem=str(mem), uses={counter_set: {"mem": str(mem)}})


def board(mem: int, *devices: JsonObject | str) -> list[JsonObject]:
    return [counters("p", part="1/2", c={"mem": str(mem)}), pool("p", *devices, part="2/2")]


def two(name: str, cpu1: int, mem1: int, cpu2: int, mem2: int) -> JsonObject:
    return dev(
        name,
        uses={
            "set1": {"cpu": str(cpu1), "mem": str(mem1)},
            "set2": {"cpu": str(cpu2), "mem": str(mem2)},
        },
    )


def one(name: str, cpu: int, mem: int) -> JsonObject:
    return dev(name, uses={"c": {"cpu": str(cpu), "mem": str(mem)}})


def sized(name: str, *least: str) -> JsonObject:
    return a_prioritized_request(
        name,
        **{
            f"s{index}": a_wish(device_class="A", selectors=[LEAST.format(each)])
            for index, each in enumerate(least)
        },
    )


XYZ = board(8, part("x", 4), part("y", 6), part("z", 4))
TABLE = [
    pytest.param(claim(r()), board(8, part("x", 4)), "r=p/x", id="134 one partition"),
    pytest.param(
        claim(r("r0"), r("r1")), XYZ, "r0=p/x r1=p/z", id="135 the next that fits beside it"
    ),
    pytest.param(
        claim(r("r0"), sized("r1", "6", "4")), XYZ, "r0=p/x r1/s1=p/z", id="136 an alternative"
    ),
    pytest.param(
        claim(r("r0"), r("r1")),
        [
            counters(
                "p",
                part="1/2",
                set1={"cpu": "8", "mem": "18"},
                set2={"cpu": "12", "mem": "18"},
            ),
            pool(
                "p",
                two("x", 6, 4, 4, 2),
                two("y", 4, 6, 6, 6),
                two("z", 4, 4, 4, 4),
                part="2/2",
            ),
        ],
        "r0=p/y r1=p/z",
        id="137 two sets",
    ),
    pytest.param(
        claim(r("r0"), r("r1")),
        [
            counters("p", part="1/2", c={"cpu": "8", "mem": "18"}),
            pool("p", one("x", 6, 4), one("y", 4, 6), one("z", 4, 4), part="2/2"),
            counters("q", part="1/2", c={"cpu": "8", "mem": "18"}),
            pool("q", one("x", 6, 4), one("y", 1, 7), one("z", 1, 7), part="2/2"),
            used("p/y", "p/z", "q/x"),
        ],
        "r0=q/y r1=q/z",
        id="138 what held partitions draw is gone",
    ),
    pytest.param(
        claim(r(count=2)),
        [
            counters("p", part="1/2", c={"mem": "8", "unused": "1"}),
            pool("p", part("x", 5), part("y", 4), part("z", 4), part="2/2"),
        ],
        "r=p/y r=p/z",
        id="139 the first does not go with any other",
    ),
    pytest.param(
        claim(r()),
        [*board(18, part("x", 4), part("y", 16)), used("p/y")],
        "NONE",
        id="140 too little is left",
    ),
    pytest.param(
        claim(r()),
        [*board(18, part("x", 4), part("y", 20)), used("p/y")],
        "NONE",
        id="141 over-committed",
    ),
    pytest.param(
        claim(r()),
        [
            counters("p", part="1/3", c={"mem": "8"}),
            pool("p", "x", part="2/3"),
            pool(
                "p",
                slice_name="again",
                part="3/3",
                sharedCounters=[{"name": "c", "counters": {"mem": {"value": "8"}}}],
            ),
        ],
        "LOCAL",
        id="144 a counter set twice",
    ),
    pytest.param(
        claim(r()), board(8, part("x", 4, counter_set="d")), "LOCAL", id="145 no such set"
    ),
    pytest.param(
        claim(r()),
        board(8, dev("x", uses={"c": {"cpu": "1"}})),
        "LOCAL",
        id="145 no such counter",
    ),
    pytest.param(
        claim(sized("r", "6", "2")),
        [
            counters("p", part="1/3", c={"mem": "8"}),
            pool("p", part("x", 6), part("y", 2), part="2/3"),
            pool("p", part("z", 6), part="3/3", node="m"),
            used("p/z"),
        ],
        "r/s1=p/y",
        id="146 partitions of other nodes count",
    ),
    pytest.param(
        claim(r()),
        [
            counters("p", part="1/3", c={"mem": "8"}),
            pool("p", "x", part="2/3"),
            pool("p", part("y", 4, counter_set="d"), part="3/3", node="m"),
        ],
        "LOCAL",
        id="148 a bad reference in another node's slice",
    ),
    pytest.param(claim(every()), board(8, part("x", 4)), "r=p/x", id="149 All"),
    pytest.param(
        claim(r(count=2, tolerations=[{"operator": "Exists"}])),
        board(8, part("x", 4) | {"taints": [a_taint()]}, part("y", 4)),
        "r=p/x r=p/y",
        id="150 a tolerated taint",
    ),
    pytest.param(
        claim(r(count=2)),
        board(8, part("x", 4) | {"taints": [a_taint()]}, part("y", 4)),
        "NONE",
        id="150 an untolerated taint",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), TABLE)
def test_partitions(asked: JsonObject, world: Sequence[JsonObject], expected: str) -> None:
    assert answer([asked], world) == expected


def test_147_counters_live_on_another_node() -> None:
    world = [
        counters("p", part="1/3", c={"mem": "8"}),
        pool("p", part("x", 6), part="2/3"),
        pool("p", part("y", 6), part("z", 2), part="3/3", node="m"),
        used("p/x"),
    ]

    assert answer([claim(r())], world, node="m") == "r=p/z"


def test_143_special_devices_are_left_for_who_needs_them() -> None:
    devices = [
        dev(
            name,
            attributes={"special": is_special},
            uses={"c1": {cpu: "1"}, "c2": {"mem": "10"}},
        )
        for name, cpu, is_special in (
            ("x", "cpu1", True),
            ("y", "cpu2", False),
            ("z", "cpu3", False),
        )
    ]
    world = [
        counters("p", part="1/2", c1={"cpu1": "1", "cpu2": "1", "cpu3": "1"}, c2={"mem": "30"}),
        pool("p", *devices, part="2/2"),
    ]
    asked = claim(r("r", count=2), r("r1", "A", 'device.attributes["a"].special'))

    assert answer([asked], world) == "r=p/y r=p/z r1=p/x"


def units(**amounts: int) -> dict[tuple[str, str], Quantity]:
    return {("gpu-0", name): Quantity.of(amount) for name, amount in amounts.items()}


def ledger(*taken: Draw, is_blocked_by_overdraft: bool = True, **amounts: int) -> CounterLedger:
    return CounterLedger.of(
        units(**amounts), taken=taken, is_blocked_by_overdraft=is_blocked_by_overdraft
    )


def test_take_is_all_or_nothing() -> None:
    board_ = ledger(memory=80, slices=1)
    wanted = [Draw(MEMORY, Quantity.of(10)), Draw(SLICES, Quantity.of(2))]

    assert not board_.take(wanted)
    assert board_ == ledger(memory=80, slices=1)
    assert board_.shortage(wanted) == Shortage(SLICES, Quantity.of(1))


def test_counter_that_the_pool_does_not_declare_never_fits() -> None:
    wanted = [Draw(SLICES, Quantity.of(1))]

    assert not ledger(memory=80).take(wanted)
    assert ledger(memory=80).shortage(wanted) == Shortage(SLICES, Quantity.of(1))


def test_over_committed_pool_gives_nothing_more_from_any_counter() -> None:
    overdrawn = ledger(Draw(MEMORY, Quantity.of(100)), memory=80, slices=7)

    assert not overdrawn.take([Draw(SLICES, Quantity.of(1))])
    assert overdrawn.shortage([Draw(SLICES, Quantity.of(1))]) == Shortage(MEMORY, Quantity.of(20))


def test_without_the_quirk_the_other_counters_of_an_over_committed_pool_stay() -> None:
    overdrawn = ledger(
        Draw(MEMORY, Quantity.of(100)), memory=80, slices=7, is_blocked_by_overdraft=False
    )

    assert overdrawn.take([Draw(SLICES, Quantity.of(1))])
    assert not overdrawn.take([Draw(MEMORY, Quantity.of(0))])


def test_counters_that_a_device_names_twice_are_drawn_together() -> None:
    half: JsonObject = {"counterSet": "c", "counters": {"mem": {"value": "3"}}}
    twice = dev("x") | {"consumesCounters": [half, half]}

    assert answer([claim(r())], board(6, twice)) == "r=p/x"
    assert answer([claim(r())], board(5, twice)) == "NONE"


@given(draws())
def test_give_back_restores_what_take_took(taken: list[Draw]) -> None:
    board_ = ledger(memory=10, slices=7)

    if board_.take(taken):
        board_.give_back(taken)

    assert board_ == ledger(memory=10, slices=7)
