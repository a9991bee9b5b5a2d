"""Upstream's accidents, each with what is documented instead (`rules.Quirks`)."""

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.rules import Quirks, Rules
from tests.unit.allocator.worlds import (
    SANE,
    answer,
    claim,
    counters,
    dev,
    every,
    pool,
    r,
    used,
)


def drawing(name: str, counter_set: str, amount: int) -> JsonObject:
    return dev(name, uses={counter_set: {"mem": str(amount)}})


def numbered(name: str, **values: int) -> JsonObject:
    return dev(name, attributes={**values})


BOTH: JsonObject = {
    "spec": {
        "devices": {
            "requests": [r(count=2)],
            "constraints": [{"matchAttribute": "a/numa", "distinctAttribute": "a/slot"}],
        }
    }
}

TABLE = [
    pytest.param(
        "obsolete_generation_stays",
        [claim(r())],
        [
            pool("p", "x", part="1/2"),
            pool("p", "y", part="2/2"),
            pool("p", "z", node="m", generation=2),
        ],
        "r=p/x",
        "NONE",
        id="a newer generation on another node",
    ),
    pytest.param(
        "all_mode_minds_every_pool",
        [claim(every())],
        [pool("p", "x"), pool("q", "y", driver="b", part="1/2")],
        "FATAL: claim t/c0, request r: asks for all devices, but resource pool b/q is currently "
        "being updated (1 of 2 slices of generation 1)",
        "r=p/x",
        id="a pool of another driver is incomplete",
    ),
    pytest.param(
        "admin_access_blocks",
        [claim(r(adminAccess=True)), claim(r())],
        [pool("p", "x", "y")],
        "r=p/x! | r=p/y",
        "r=p/x! | r=p/x",
        id="a watched device is wanted",
    ),
    pytest.param(
        "admin_access_draws_counters",
        [claim(r(adminAccess=True))],
        [
            counters("p", part="1/2", c={"mem": "8"}),
            pool("p", drawing("x", "c", 8), part="2/2"),
            used("p/x"),
        ],
        "NONE",
        "r=p/x!",
        id="the device itself has drained the counters",
    ),
    pytest.param(
        "overdrawn_counter_blocks_pool",
        [claim(r())],
        [
            counters("p", part="1/2", c={"mem": "8"}, d={"mem": "8"}),
            pool("p", drawing("x", "c", 20), drawing("y", "d", 4), part="2/2"),
            used("p/x"),
        ],
        "NONE",
        "r=p/y",
        id="another counter set is overdrawn",
    ),
    pytest.param(
        "match_hides_distinct",
        [BOTH],
        [
            pool(
                "p",
                numbered("x", numa=1, slot=1),
                numbered("y", numa=1, slot=1),
                numbered("z", numa=1, slot=2),
            )
        ],
        "r=p/x r=p/y",
        "r=p/x r=p/z",
        id="a constraint with both attributes",
    ),
    pytest.param(
        "operations_are_skipped_unseen",
        [claim(r())],
        [pool("p", "x", skipNodeOperations=["*"])],
        "r=p/x",
        "NONE",
        id="a node is to skip operations",
    ),
]


@pytest.mark.parametrize(("quirk", "claims", "world", "upstream", "documented"), TABLE)
def test_quirk_both_ways(
    quirk: str,
    claims: Sequence[JsonObject],
    world: Sequence[JsonObject],
    upstream: str,
    documented: str,
) -> None:
    alone = Rules(quirks=replace(Quirks(), **{quirk: False}))
    only = Rules(quirks=replace(Quirks.none(), **{quirk: True}))

    assert answer(claims, world) == answer(claims, world, rules=only) == upstream
    assert answer(claims, world, rules=alone) == answer(claims, world, rules=SANE) == documented


def test_every_quirk_is_in_the_table() -> None:
    assert {field.name for field in fields(Quirks)} == {case.values[0] for case in TABLE}


def test_incomplete_pool_with_a_device_that_is_meant_is_minded_all_the_same() -> None:
    world = [pool("p", "x"), pool("q", "y", part="1/2")]

    assert "resource pool a/q is currently being updated" in answer(
        [claim(every())], world, rules=SANE
    )


def test_watched_device_is_not_given_to_the_claim_that_watches_it() -> None:
    asked = claim(r("r0", adminAccess=True), r("r1"))

    assert answer([asked], [pool("p", "x", "y")], rules=SANE) == "r0=p/x! r1=p/y"


ONCE_QUIRKS = [
    pytest.param(
        [claim(r("r0"), r("r1", "B"))],
        [
            counters("p", part="1/2", c={"mem": "8"}),
            pool("p", drawing("x", "c", 8), part="2/2"),
            counters("p", part="1/2", c={"mem": "8"})
            | {
                "metadata": {"name": "counters-b"},
                "spec": {
                    "driver": "b",
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2},
                    "nodeName": "n",
                    "sharedCounters": [{"name": "c", "counters": {"mem": {"value": "8"}}}],
                },
            },
            pool("p", drawing("x", "c", 8), driver="b", part="2/2"),
        ],
        "r0=p/x r1=b/p/x",
        id="drivers with equal pool names do not share counters",
    ),
    pytest.param(
        [claim(r("r0"))],
        [
            counters("p", part="1/2", c={"mem": "8"}),
            pool(
                "p",
                drawing("x", "c", 8) | {"taints": [{"key": "k", "effect": "NoSchedule"}]},
                drawing("y", "c", 8),
                part="2/2",
            ),
        ],
        "r0=p/y",
        id="a taint gives the counters back",
    ),
    pytest.param(
        [claim(r(count=2), match=[("a/n", [])])],
        [
            counters("p", part="1/2", c={"mem": "8"}),
            pool(
                "p",
                *(
                    drawing(name, "c", 4) | {"attributes": {"n": {"int": number}}}
                    for name, number in (("x", 1), ("y", 2), ("z", 1))
                ),
                part="2/2",
            ),
        ],
        "r=p/x r=p/z",
        id="a constraint gives the counters back",
    ),
    pytest.param(
        [claim(r("r0", "As"), r("r1", "A", 'device.attributes["a"].n == 2'))],
        [
            counters("p", part="1/2", c={"mem": "8"}),
            pool(
                "p",
                drawing("x", "c", 8)
                | {"allowMultipleAllocations": True, "attributes": {"n": {"int": 1}}},
                dev("y", attributes={"n": 1}) | {"allowMultipleAllocations": True},
                drawing("z", "c", 8) | {"attributes": {"n": {"int": 2}}},
                part="2/2",
            ),
        ],
        "r0=p/y~ r1=p/z",
        id="undoing a share gives the counters back",
    ),
    pytest.param(
        [claim(r(count=3), distinct=[("a/n", [])])],
        [pool("p", *(numbered(name, n=number) for name, number in (("x", 1), ("y", 2), ("z", 1))))],
        "NONE",
        id="102 all devices of a request differ",
    ),
]


@pytest.mark.parametrize(("claims", "world", "expected"), ONCE_QUIRKS)
def test_accidents_of_older_releases_are_gone(
    claims: Sequence[JsonObject], world: Sequence[JsonObject], expected: str
) -> None:
    assert answer(claims, world) == expected
