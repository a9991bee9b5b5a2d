"""What a search does not try: less effort, and never another answer."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.command.scenario import Scenario
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.outcomes import Allocated, BudgetExhausted, DoesNotFit, Outcome
from dra_console.allocator.rules import Quirks
from dra_console.allocator.search import pruning
from dra_console.allocator.search.bounds import serves_all
from dra_console.allocator.search.search import search_node
from dra_console.allocator.world.index import index_of
from tests.builders.objects import a_prioritized_request, a_wish
from tests.oracle.generator.scenario import SERIES, scenario
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

NEVER = 10**9
AT_ONCE = -1
BUDGET = 30_000


def answers(made: Scenario, failures_before: int) -> list[Outcome]:
    """Search every node of a scenario, with pruning after so many failures."""
    index = index_of(replace(made.snapshot), rules=made.rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "FAILURES_BEFORE", failures_before)
        return [
            search_node(
                index, made.claims, node=node, step_budget=BUDGET, new_share_id=lambda: "share"
            )
            for node in made.nodes
        ]


def essence(found: Outcome) -> object:
    """Return what has to be the same with and without pruning."""
    match found:
        case Allocated(results):
            return [each.to_json() for each in results]
        case DoesNotFit(invalid_pools=invalid):
            return invalid
    return type(found)


@settings(max_examples=200, deadline=None)
@given(
    series=st.sampled_from(sorted(SERIES)),
    seed=st.integers(0, 2**31 - 1),
    is_upstream=st.booleans(),
)
def test_pruning_changes_no_answer(series: str, seed: int, is_upstream: bool) -> None:
    made = Scenario.decode(json.dumps(scenario(series, seed, 0)))
    if not is_upstream:
        made = replace(made, rules=replace(made.rules, quirks=Quirks.none()))

    plain, pruned = answers(made, NEVER), answers(made, AT_ONCE)

    for left, right in zip(plain, pruned, strict=True):
        if not isinstance(left, BudgetExhausted) and not isinstance(right, BudgetExhausted):
            assert essence(right) == essence(left)


@settings(max_examples=300, deadline=None)
@given(
    demands=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 255)), max_size=5),
    free=st.integers(0, 255),
)
def test_flow_finds_a_way_to_serve_all_if_there_is_one(
    demands: list[tuple[int, int]], free: int
) -> None:
    assert serves_all(demands, free=free) == is_served(demands, free)


def is_served(demands: Sequence[tuple[int, int]], free: int) -> bool:
    """Try every way."""
    for at, (count, places) in enumerate(demands):
        if count == 0:
            continue
        rest = [*demands]
        rest[at] = (count - 1, places)
        bits = (1 << place for place in range(8) if (places & free) >> place & 1)
        return any(is_served(rest, free ^ bit) for bit in bits)
    return True


READS_ALL = 'device.attributes["a"].n >= 0'
"""Makes every device differ from every other one, as far as expressions can see."""


def numbered(count: int, **modulo: int) -> list[JsonObject]:
    """Build devices with a number each, and with its rest by each modulus."""
    devices = []
    for n in range(count):
        attributes: dict[str, Json] = {name: n % by for name, by in modulo.items()}
        devices.append(dev(f"x{n}", attributes=attributes | {"n": n}))
    return devices


def asking(*counts: int, **constraints: str) -> JsonObject:
    """Build a claim of requests for so many devices; constraints are kinds by attribute."""
    requests = [r(f"r{at}", "A", READS_ALL, count=count) for at, count in enumerate(counts)]
    return claim(
        *requests,
        match=[(f"a/{name}", []) for name, kind in constraints.items() if kind == "match"],
        distinct=[(f"a/{name}", []) for name, kind in constraints.items() if kind == "distinct"],
    )


def partitions(count: int, free: int, *sizes: int) -> list[JsonObject]:
    """Build a board with partitions of these sizes in turn."""
    devices = [
        dev(f"x{n}", attributes={"n": n}, uses={"c": {"mem": str(sizes[n % len(sizes)])}})
        for n in range(count)
    ]
    return [counters("p", part="1/2", c={"mem": str(free)}), pool("p", *devices, part="2/2")]


def at_most(number: int) -> str:
    return f'device.attributes["a"].n <= {number}'


def shareable(count: int, amount: int) -> list[JsonObject]:
    body: JsonObject = {
        "capacity": {"k": {"value": str(amount)}},
        "allowMultipleAllocations": True,
    }
    return [pool("p", *(dev(f"x{n}", attributes={"n": n}) | body for n in range(count)))]


def shares(*amounts: int) -> list[JsonObject]:
    return [
        claim(r("r", "As", READS_ALL, capacity={"requests": {"k": str(amount)}}))
        for amount in amounts
    ]


PLACES = [("1g", 1), ("2g", 2), ("3g", 3), ("4g", 4), ("7g", 7)]


def sliced(boards: int) -> list[JsonObject]:
    """Build boards of 8 places each with partitions at every place where they fit."""
    devices = [
        dev(
            f"b{board}-{profile}-{start}",
            attributes={"n": start, "profile": profile},
            uses={
                f"b{board}": {"mem": str(size)}
                | {f"place-{at}": "1" for at in range(start, start + size)}
            },
        )
        for board in range(boards)
        for profile, size in PLACES
        for start in range(8 - size + 1)
    ]
    sets = {
        f"b{board}": {"mem": "8"} | {f"place-{at}": "1" for at in range(8)}
        for board in range(boards)
    }
    return [counters("p", part="1/2", **sets), pool("p", *devices, part="2/2")]


def profiles(**counts: int) -> JsonObject:
    return claim(
        *(
            r(f"r-{name}", "A", f'device.attributes["a"].profile == "{name[1:]}"', count=count)
            for name, count in counts.items()
        )
    )


HOPELESS = [
    pytest.param([asking(9, g="match")], [pool("p", *numbered(64, g=8))], id="9 that match of 8"),
    pytest.param(
        [asking(16, 1, g="match")], [pool("p", *numbered(128, g=8))], id="17 in two requests"
    ),
    pytest.param(
        [asking(5, g="match", h="match")], [pool("p", *numbered(64, g=8, h=5))], id="two matches"
    ),
    pytest.param(
        [asking(9, g="distinct")], [pool("p", *numbered(64, g=8))], id="9 that differ of 8"
    ),
    pytest.param(
        [asking(*[1] * 9, g="distinct")], [pool("p", *numbered(64, g=8))], id="9 requests differ"
    ),
    pytest.param([asking(1)] * 33, [pool("p", *numbered(32))], id="33 claims, 32 devices"),
    pytest.param(
        [claim(r("r", "A", at_most(31 - n))) for n in range(32)],
        [pool("p", *numbered(31))],
        id="32 claims that each want fewer, 31 devices",
    ),
    pytest.param([asking(32)] * 2, [pool("p", *numbered(63))], id="twice 32 of 63"),
    pytest.param([asking(8)], partitions(64, 7, 1), id="8 partitions, counters for 7"),
    pytest.param([asking(*[1] * 8)], partitions(64, 20, 3, 4, 5), id="8 requests, for 6"),
    pytest.param([asking(1)] * 8, partitions(64, 20, 3, 4, 5), id="8 claims, for 6"),
    pytest.param([profiles(_1g=25)], sliced(3), id="one slice more than there are places"),
    pytest.param([profiles(_4g=3, _2g=7)], sliced(3), id="slices of two sizes"),
    pytest.param([profiles(_1g=4, _7g=3)], sliced(3), id="small slices before large ones"),
    pytest.param([profiles(_3g=3, _2g=5, _1g=6)], sliced(3), id="slices of three sizes"),
    pytest.param([profiles(_3g=1)] * 7, sliced(3), id="slices for seven claims"),
    pytest.param(shares(*[3] * 25), shareable(8, 10), id="25 shares where there is room for 24"),
    pytest.param(
        [
            claim(
                *(
                    a_prioritized_request(
                        f"r{at}",
                        **{
                            f"s{n}": a_wish(device_class="A", selectors=[READS_ALL], count=n + 1)
                            for n in range(4)
                        },
                    )
                    for at in range(8)
                ),
                r("last", "A", 'device.attributes["a"].n == -1'),
            )
        ],
        [pool("p", *numbered(64))],
        id="lists before a request that nothing serves",
    ),
    pytest.param(
        [asking(*[1] * 21, n="distinct"), claim(every("all", "A", READS_ALL, adminAccess=True))],
        [pool("p", *numbered(20))],
        id="one device short before a look at all of them",
    ),
]


@pytest.mark.parametrize(("claims", "world"), HOPELESS)
def test_hopeless_claims_are_refused_in_few_steps(
    claims: Sequence[JsonObject], world: Sequence[JsonObject]
) -> None:
    found = outcome(claims, world)

    assert isinstance(found, DoesNotFit)
    assert found.steps < 2_500


FITTING = [
    pytest.param([asking(8, g="match")], [pool("p", *numbered(64, g=8))], id="8 that match of 8"),
    pytest.param([profiles(_1g=24)], sliced(3), id="all places"),
    pytest.param([profiles(_4g=3, _2g=6)], sliced(3), id="slices of two sizes"),
    pytest.param(shares(*[3] * 24), shareable(8, 10), id="24 shares"),
    pytest.param(
        [asking(*[1] * 8, g="distinct")], [pool("p", *numbered(64, g=8))], id="8 requests differ"
    ),
]


@pytest.mark.parametrize(("claims", "world"), FITTING)
def test_tight_claims_are_served_in_few_steps(
    claims: Sequence[JsonObject], world: Sequence[JsonObject]
) -> None:
    found = outcome(claims, world)

    assert isinstance(found, Allocated)
    assert found.steps < 2_500


def test_search_that_cannot_be_pruned_ends_with_a_typed_outcome() -> None:
    # Which shares go together is a knapsack, of which no bound sees the end.
    found = outcome(shares(2, 3, 4, 5, 6, 7, 3, 4, 6, 1), shareable(4, 10), step_budget=500)

    assert found == BudgetExhausted(500)


def test_requests_whose_alternatives_a_constraint_does_not_cover_need_not_agree() -> None:
    covered: Json = {"name": "s0", **a_wish(device_class="B")}
    free: Json = {"name": "s1", **a_wish(device_class="A", selectors=[READS_ALL])}
    asked = [
        claim({"name": "r", "firstAvailable": [covered, free]}, match=[("b/g", ["r/s0"])]),
        *[asking(1)] * 30,
    ]
    world = [pool("p", *numbered(31))]

    assert answer(asked, world).startswith("r/s1=p/x0 | ")


def test_broken_input_behind_a_hopeless_request_is_found_all_the_same() -> None:
    needs = 'device.attributes["a"].none'
    asked = [asking(1), asking(1), claim(r("r", "A", READS_ALL), r("bad", "A", needs))]

    found = answer([*asked, *[asking(1)] * 20], [pool("p", *numbered(20))])

    assert found.startswith("FATAL")
    assert "no such key: none" in found


def test_all_under_a_constraint_is_found_broken_behind_a_hopeless_request() -> None:
    asked = [
        asking(1),
        claim(every("all", "A", READS_ALL, adminAccess=True), match=[("a/n", [])]),
        asking(*[1] * 21, n="distinct"),
    ]

    assert answer(asked, [pool("p", *numbered(20))]).startswith("FATAL")


def test_all_and_what_is_held_meet_the_same_devices_as_without_pruning() -> None:
    world = [pool("p", *numbered(20)), used("p/x19")]

    assert answer([asking(1), claim(every())], world) == "NONE"
