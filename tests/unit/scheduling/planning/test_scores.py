"""Which of the nodes that fit is taken."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim, decode_node, decode_slice
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.search import allocate
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.placements import Placement
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed
from dra_console.scheduling.planning.wishes import PodWish, wish_of_pod
from tests.builders.boards import a_board, a_ready_node
from tests.builders.objects import (
    a_claim,
    a_class,
    a_counter_set,
    a_device,
    a_pod,
    a_prioritized_request,
    a_request,
    a_slice,
    a_wish,
)


def whole_gpus(*nodes: str, count: int = 2) -> list[JsonObject]:
    devices = [a_device(f"gpu-{number}") for number in range(count)]
    pairs = ((a_ready_node(name), a_slice(node=name, devices=devices)) for name in nodes)
    return [each for pair in pairs for each in pair]


def split_gpus(node: str, *, boards: int = 1) -> list[JsonObject]:
    """Build a node with boards of 7 units: two partitions of 3 units each, and three of 2."""
    partitions = [("l", 3, 2), ("m", 2, 3)]
    devices = [
        a_device(
            f"board-{board}-{size}{number}",
            attributes={"size": size},
            consumes={f"board-{board}": {"units": str(units)}},
        )
        for board in range(boards)
        for size, units, count in partitions
        for number in range(count)
    ]
    sets: list[Json] = [a_counter_set(f"board-{board}", {"units": "7"}) for board in range(boards)]
    return [
        a_ready_node(node),
        a_slice(f"{node}-counters", node=node, slice_count=2, sharedCounters=sets),
        a_slice(f"{node}-devices", node=node, slice_count=2, devices=devices),
    ]


def a_wish_for(placement: str = "pack", **spec: Any) -> PodWish:
    pod: Any = a_pod()
    pod["metadata"]["annotations"] = {"dra-console.io/placement": placement}
    pod["spec"] |= spec
    wish = wish_of_pod(pod)
    assert isinstance(wish, PodWish)
    return wish


def a_partition(name: str, size: str) -> JsonObject:
    expression = f'device.attributes["gpu.nvidia.com"].size == "{size}"'
    return a_claim(name, requests=[a_request(selectors=[expression])])


def put(board: NodeBoard, claim: JsonObject, wish: PodWish, *, node: str = "") -> str:
    """Plan a claim, on a node if one is named, and count it as written."""
    decoded = decode_claim(claim)
    if node:
        wish = replace(wish, nodes=replace(wish.nodes, labels=(("kubernetes.io/hostname", node),)))
    plan = plan_pod(board, wish, [decoded])
    assert isinstance(plan, Placed), plan
    board.fleet.put_claim(replace(decoded, allocation=plan.allocations[decoded.uid]))
    return plan.node_name


def nodes_of(placement: str, *, count: int = 4) -> list[str]:
    board = a_board(a_class(), *whole_gpus("a", "b", "c"))
    return [put(board, a_claim(f"c{at}"), a_wish_for(placement)) for at in range(count)]


def test_packing_fills_a_node_before_it_breaks_into_the_next() -> None:
    assert nodes_of("pack") == ["a", "a", "b", "b"]


def test_spreading_takes_the_node_of_which_least_is_in_use() -> None:
    assert nodes_of("spread") == ["a", "b", "c", "a"]


def test_whole_devices_leave_no_fragments_and_are_packed() -> None:
    assert nodes_of("fewest-fragments") == nodes_of("pack")


def a_fleet_of_boards() -> NodeBoard:
    """A board of which 2 of 7 units are in use, one of which 3 are, and a whole one."""
    board = a_board(a_class(), *split_gpus("a"), *split_gpus("b"), *split_gpus("c"))
    put(board, a_partition("first", "m"), a_wish_for(), node="a")
    put(board, a_partition("second", "l"), a_wish_for(), node="b")
    return board


def test_fewest_fragments_uses_up_what_nothing_else_could_use() -> None:
    """On b 4 units are left: one of 3 leaves a unit over, two of 2 leave none."""
    assert put(a_fleet_of_boards(), a_partition("m", "m"), a_wish_for("pack")) == "a"
    assert put(a_fleet_of_boards(), a_partition("m", "m"), a_wish_for("fewest-fragments")) == "b"


def test_fewest_fragments_leaves_whole_boards_whole() -> None:
    """Of 5 units, 3 leave 2 that can be used, as 4 would of 7; but that board is whole."""
    board = a_board(a_class(), *split_gpus("a"), *split_gpus("b", boards=2))
    put(board, a_partition("first", "m"), a_wish_for(), node="b")

    assert put(board, a_partition("l", "l"), a_wish_for("fewest-fragments")) == "b"


def test_preferred_affinity_decides_between_nodes_that_are_as_good_otherwise() -> None:
    board = a_board(a_class(), *whole_gpus("a", "b", "c"))
    put(board, a_claim("first"), a_wish_for(), node="c")
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    preferred = [{"weight": 1, "preference": term}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}

    nodes = [put(board, a_claim(f"c{at}"), a_wish_for(affinity=affinity)) for at in range(3)]

    assert nodes == ["c", "b", "b"]


def test_a_taint_to_avoid_makes_a_node_the_last_of_those_that_are_as_good() -> None:
    avoided: Any = a_ready_node("a")
    avoided["spec"]["taints"] = [{"key": "old", "effect": "PreferNoSchedule"}]
    _, *rest = whole_gpus("a", "b")
    board = a_board(a_class(), avoided, *rest)

    assert put(board, a_claim("first"), a_wish_for("spread")) == "b"


def test_a_node_where_a_list_gets_its_first_choice_beats_one_that_is_packed_better() -> None:
    def choosing(size: str) -> JsonObject:
        return a_wish(selectors=[f'device.attributes["gpu.nvidia.com"].size == "{size}"'])

    devices = {"a": "small", "b": "big"}
    board = a_board(
        a_class(),
        *(a_ready_node(name) for name in devices),
        *(
            a_slice(node=name, devices=[a_device(attributes={"size": size})])
            for name, size in devices.items()
        ),
    )
    request = a_prioritized_request(big=choosing("big"), small=choosing("small"))

    nodes = [put(board, a_claim(f"c{at}", requests=[request]), a_wish_for()) for at in range(2)]

    assert nodes == ["b", "a"]


def test_a_node_that_came_later_is_in_its_place_by_name() -> None:
    board = a_board(a_class(), *whole_gpus("b", "d"))
    for each in whole_gpus("c", "a"):
        if each["kind"] == "Node":
            board.fleet.put_node(decode_node(each))
            board.put_node(each)
        else:
            board.fleet.put_slice(decode_slice(each))

    nodes = [put(board, a_claim(f"c{at}"), a_wish_for("spread")) for at in range(5)]

    assert nodes == ["a", "b", "c", "d", "a"]
    assert plan_pod(board, a_wish_for("spread"), []) == Placed("b", {})


sizes = st.sampled_from(["l", "m"])
asked = st.lists(sizes, min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    boards=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    pods=st.lists(st.tuples(asked, st.sampled_from(list(Placement))), max_size=8),
)
def test_a_score_only_reorders(boards: list[int], pods: list[tuple[list[str], Placement]]) -> None:
    """A pod that fits on some node is placed whatever its placement, on a node where it fits."""
    objects = [
        each for at, count in enumerate(boards) for each in split_gpus(f"n{at}", boards=count)
    ]
    board = a_board(a_class(), *(each for each in objects if each["kind"] == "Node" or _has(each)))
    for at, (wanted, placement) in enumerate(pods):
        claims = [decode_claim(a_partition(f"p{at}-{n}", size)) for n, size in enumerate(wanted)]
        snapshot = board.fleet.snapshot()
        fitting = {
            node.name
            for node in snapshot.nodes
            if isinstance(allocate(snapshot, claims, node=node), Allocated)
        }

        plans = {each: plan_pod(board, a_wish_for(each), claims) for each in Placement}

        for plan in plans.values():
            assert isinstance(plan, Placed if fitting else NotPlaced)
            assert not isinstance(plan, Placed) or plan.node_name in fitting
        chosen = plans[placement]
        if isinstance(chosen, Placed):
            for claim in claims:
                allocation = chosen.allocations[claim.uid]
                board.fleet.put_claim(replace(claim, allocation=allocation))


def _has(published: JsonObject) -> bool:
    spec: Any = published["spec"]
    return bool(spec.get("devices") or spec.get("sharedCounters"))


@pytest.mark.parametrize("placement", Placement)
def test_a_board_that_was_kept_plans_as_one_that_is_new(placement: Placement) -> None:
    objects = [a_class(), *split_gpus("a", boards=2), *split_gpus("b")]
    kept = a_board(*objects)
    for at, size in enumerate("lmlmm"):
        claim = decode_claim(a_partition(f"p{at}", size))
        wish = a_wish_for(placement)
        new = NodeBoard(Fleet(kept.fleet.snapshot()))
        for each in objects:
            if each["kind"] == "Node":
                new.put_node(each)

        plan = plan_pod(kept, wish, [claim])

        assert plan == plan_pod(new, wish, [claim])
        assert isinstance(plan, Placed)
        kept.fleet.put_claim(replace(claim, allocation=plan.allocations[claim.uid]))
