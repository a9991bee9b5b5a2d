"""Two nodes that differ in one thing, which decides whether claims fit: two cases, not one.

Each world has a node on which the claims fit and one on which they do not. Asked in both
orders, with and without the node in front, a fleet must say what a plain walk says.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_node,
    decode_slice,
    decode_snapshot,
)
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import Json, JsonObject, Snapshot
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.index import index_of
from tests.builders.objects import a_counter_set, a_node
from tests.unit.allocator.plain_first_fit import comparable, plain_first_fit
from tests.unit.allocator.worlds import (
    CLASSES,
    claim,
    dev,
    every,
    pool,
    r,
    snapshot,
    used,
    with_gates,
)

ONE = claim(r())
SHARE = "00000000-0000-4000-8000-000000000001"
TWO_OF_MEMORY = claim(r("r", "As", capacity={"requests": {"memory": "2"}}))


def a_board(name: str, total: str, *devices: JsonObject) -> list[JsonObject]:
    """Build the pool of a node, with one board of memory that its devices draw on."""
    board: list[Json] = [a_counter_set("board", {"memory": total})]
    return [
        pool(name, node=name, part="1/2", slice_name=f"b-{name}", sharedCounters=board),
        pool(name, *devices, node=name, part="2/2"),
    ]


def drawing(name: str, amount: str) -> JsonObject:
    return dev(name, uses={"board": {"memory": amount}})


def shareable() -> JsonObject:
    return dev("x", mem="4", allowMultipleAllocations=True)


def a_share(of: str, amount: str) -> JsonObject:
    return used(of, shareID=SHARE, consumedCapacity={"memory": amount})


def two_places(name: str, node: str, elsewhere: str) -> list[JsonObject]:
    """Build a pool of a device on a node and two on another, `x` and `y` drawing on one board."""
    board: list[Json] = [a_counter_set("board", {"memory": "4"})]
    return [
        pool(
            name,
            node=None,
            allNodes=True,
            part="1/3",
            slice_name=f"b-{name}",
            sharedCounters=board,
        ),
        pool(name, drawing("x", "2"), node=node, part="2/3"),
        pool(name, drawing("y", "3"), "z", node=elsewhere, part="3/3"),
    ]


WORLDS: dict[str, tuple[JsonObject, list[JsonObject]]] = {
    "totals of counters": (
        ONE,
        [*a_board("n", "2", drawing("x", "3")), *a_board("m", "4", drawing("x", "3"))],
    ),
    "what held devices draw": (
        ONE,
        [
            *a_board("n", "4", drawing("x", "3"), drawing("y", "2")),
            *a_board("m", "4", drawing("x", "1"), drawing("y", "2")),
            used("n/x"),
            used("m/x"),
        ],
    ),
    "which of two devices is held": (
        ONE,
        [
            *a_board("n", "4", drawing("x", "3"), drawing("y", "2"), drawing("z", "4")),
            *a_board("m", "4", drawing("x", "1"), drawing("y", "2"), drawing("z", "4")),
            used("n/x"),
            used("m/x"),
        ],
    ),
    "what is drawn elsewhere": (
        ONE,
        [
            a_node("o"),
            a_node("p"),
            *two_places("n", "n", "o"),
            *two_places("m", "m", "p"),
            used("n/y"),
        ],
    ),
    "amounts of shares": (
        TWO_OF_MEMORY,
        [
            pool("n", shareable(), node="n"),
            pool("m", shareable(), node="m"),
            a_share("n/x", "3"),
            a_share("m/x", "1"),
        ],
    ),
    "what whole devices have that was shared": (
        ONE,
        [
            pool("n", dev("x", mem="4"), node="n"),
            pool("m", dev("x") | {"capacity": {"bandwidth": {"value": "4"}}}, node="m"),
            a_share("n/x", "1"),
            a_share("m/x", "1"),
        ],
    ),
    "a held device for who takes all": (
        claim(every()),
        [
            pool("n", "x", "y", node="n"),
            pool("m", "y", node="m"),
            used("n/x"),
        ],
    ),
    "a held device for who watches": (
        claim(r(adminAccess=True, count=2)),
        [
            pool("n", "x", "y", node="n"),
            pool("m", "y", node="m"),
            used("n/x"),
        ],
    ),
    "where a device can be used": (
        ONE,
        [
            pool("n", dev("x", nodeName="o"), node=None, perDeviceNodeSelection=True),
            pool("m", dev("x", nodeName="m"), node=None, perDeviceNodeSelection=True),
        ],
    ),
    "an invalid pool": (
        ONE,
        [pool("n", "x", "x", node="n"), pool("m", "x", "y", node="m")],
    ),
    "a pool that is not whole": (
        claim(every()),
        [
            pool("n", "x", node="n"),
            pool("o", "x", node="n", part="1/2"),
            pool("m", "x", node="m"),
            pool("p", "x", node="m"),
        ],
    ),
}


def plain(world: Snapshot, asked: JsonObject) -> object:
    found = plain_first_fit(
        index_of(world), [decode_claim(asked)], nodes=world.nodes, step_budget=DEFAULT_STEP_BUDGET
    )
    return comparable(found)


def kept(fleet: Fleet, asked: JsonObject) -> object:
    return comparable(fleet.first_fit([decode_claim(asked)]))


@pytest.mark.parametrize("difference", WORLDS)
def test_of_two_nodes_that_are_nearly_alike_neither_stands_for_the_other(difference: str) -> None:
    asked, objects = WORLDS[difference]
    world = snapshot(*objects)
    outcomes = []

    for nodes in (world.nodes, world.nodes[::-1]):
        fleet = Fleet(replace(world, nodes=nodes))
        while left := fleet.snapshot().nodes:
            found = kept(fleet, asked)
            assert found == plain(fleet.snapshot(), asked)
            assert kept(fleet, asked) == found
            fleet.remove_node(left[0].name)
    for node in world.nodes[:2]:
        alone = Fleet(replace(world, nodes=(node,)))
        outcomes.append(type(alone.first_fit([decode_claim(asked)]).outcome))

    assert outcomes.count(Allocated) == 1


CHANGES: dict[str, Callable[[Fleet], None]] = {
    "a device is taken": lambda fleet: fleet.put_claim(decode_claim(used("n/x"))),
    "a share is taken": lambda fleet: fleet.put_claim(decode_claim(a_share("n/s", "3"))),
    "a device elsewhere is taken": lambda fleet: fleet.put_claim(decode_claim(used("n/y"))),
    "its slice shrinks": lambda fleet: fleet.put_slice(
        decode_slice(pool("n", dev("s", mem="1"), node="n", slice_name="own"))
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_question_of_long_ago_hears_of_changes(change: str) -> None:
    """So many questions that read something new come between that its view is an old one."""
    fleet = Fleet(
        snapshot(
            pool("n", "x", "y", dev("s", mem="4", allowMultipleAllocations=True), slice_name="own"),
            a_node("o"),
        )
    )
    asked = [claim(r(count=2)), TWO_OF_MEMORY, claim(r(adminAccess=True, count=3))]
    for each in asked:
        kept(fleet, each)
    for number in range(10):
        expression = f'device.attributes["a"].?other{number}.orValue(0) == 0'
        kept(fleet, claim(r("r", "A", expression)))

    CHANGES[change](fleet)

    for each in asked:
        assert kept(fleet, each) == plain(fleet.snapshot(), each)


def test_a_device_that_is_taken_elsewhere_leaves_less_of_the_board() -> None:
    fleet = Fleet(snapshot(a_node("o"), *two_places("p", "n", "o"), used("p/z")))

    before = kept(fleet, ONE)
    fleet.put_claim(decode_claim(used("p/y")))

    after = kept(fleet, ONE)
    assert after == plain(fleet.snapshot(), ONE)
    assert after != before


@pytest.mark.parametrize("names", [("able", "other"), ("other", "able")])
def test_a_node_that_declares_a_feature_is_not_one_that_does_not(names: tuple[str, str]) -> None:
    rules = with_gates(Feature.OPTIONAL_NODE_OPERATIONS)
    status: JsonObject = {"declaredFeatures": [Feature.OPTIONAL_NODE_OPERATIONS.value]}
    nodes = {"able": a_node("able") | {"status": status}, "other": a_node("other")}
    skipping = [pool(name, "x", node=name, skipNodeOperations=["*"]) for name in names]
    world = decode_snapshot([*(nodes[name] for name in names), *CLASSES, *skipping])
    fleet = Fleet(world, rules=rules)

    while left := fleet.snapshot().nodes:
        found = fleet.first_fit([decode_claim(ONE)]).node
        assert (found.name if found else None) == ("able" if "able" in names_of(left) else None)
        fleet.remove_node(left[0].name)


def names_of(nodes: tuple[Node, ...]) -> list[str]:
    return [node.name for node in nodes]


def test_a_pool_that_was_mended_is_not_called_invalid_any_more() -> None:
    fleet = Fleet(snapshot(pool("p", "x", "x", slice_name="own"), used("p/x")))

    before = kept(fleet, ONE)
    fleet.put_slice(decode_slice(pool("p", "x", slice_name="own")))

    after = kept(fleet, ONE)
    assert after == plain(fleet.snapshot(), ONE)
    assert after != before


def test_a_node_hears_of_a_device_that_another_saw_as_well_and_is_gone() -> None:
    fleet = Fleet(snapshot(pool("p", "x", node=None, allNodes=True), used("p/x")))

    before = kept(fleet, ONE)
    fleet.remove_node("n")
    fleet.remove_claim("t/used-1-p-x")

    after = kept(fleet, ONE)
    assert after == plain(fleet.snapshot(), ONE)
    assert after != before


def test_a_node_whose_labels_change_is_looked_at_again() -> None:
    expression: Json = {"key": "zone", "operator": "In", "values": ["z3"]}
    terms: list[Json] = [{"matchExpressions": [expression]}]
    selecting = pool("p", "x", node=None, nodeSelector={"nodeSelectorTerms": terms})
    fleet = Fleet(snapshot(selecting, a_node("o", zone="z3")))

    before = kept(fleet, ONE)
    fleet.put_node(decode_node(a_node("o", zone="z4")))

    after = kept(fleet, ONE)
    assert after == plain(fleet.snapshot(), ONE)
    assert after != before
