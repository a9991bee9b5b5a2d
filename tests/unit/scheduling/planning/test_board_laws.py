"""A board that is told of changes plans as one that is made of what is there now."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim, decode_node, decode_taint_rule
from dra_console.allocator.model import AllocationResult
from dra_console.allocator.search.fleet import Fleet
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.placements import Placement
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed, Plan
from dra_console.scheduling.planning.wishes import PodWish, wish_of_pod
from tests.builders.boards import a_board, a_ready_node
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_pod,
    a_request,
    a_slice,
    a_taint,
    a_taint_rule,
)

NAMES = ("a", "b", "c", "d")
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def a_node_of(name: str, *, cordoned: bool, tainted: bool, cpu: int, zone: str) -> Any:
    node = a_ready_node(name, offers={"cpu": str(cpu), "pods": "3"}, zone=zone)
    node["spec"] = {"unschedulable": cordoned}
    if tainted:
        node["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return node


def a_wish_of(placement: Placement, *, cpu: int, tolerates: bool, zone: str, likes: str) -> PodWish:
    pod: Any = a_pod()
    pod["metadata"]["annotations"] = {"dra-console.io/placement": placement.value}
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
    if tolerates:
        pod["spec"]["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if zone:
        pod["spec"]["nodeSelector"] = {"zone": zone}
    match = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [likes]}]}
    pod["spec"]["affinity"] = {"nodeAffinity": {PREFERRED: [{"weight": 7, "preference": match}]}}
    wish = wish_of_pod(pod)
    assert isinstance(wish, PodWish), wish
    return wish


seldom = st.sampled_from([False, False, False, True])
zones = st.sampled_from(["x", "y"])
node_rows = st.builds(
    a_node_of,
    st.sampled_from(NAMES),
    cordoned=seldom,
    tainted=seldom,
    cpu=st.integers(1, 3),
    zone=zones,
)
wishes = st.builds(
    a_wish_of,
    st.sampled_from(list(Placement)),
    cpu=st.integers(1, 2),
    tolerates=st.booleans(),
    zone=st.sampled_from(["", "", "", "x"]),
    likes=zones,
)
plans = st.tuples(st.just("plan"), st.tuples(wishes, st.integers(1, 2)))
changes = st.one_of(
    plans,
    plans,
    plans,
    st.tuples(st.just("node"), node_rows),
    st.tuples(st.just("gone"), st.sampled_from(NAMES)),
    st.tuples(st.just("use"), st.tuples(st.sampled_from(NAMES), st.integers(0, 3000))),
    st.tuples(st.just("free"), st.integers(0, 9)),
    st.tuples(st.just("rule"), st.booleans()),
)


def devices() -> list[Any]:
    return [
        a_slice(node=name, devices=[a_device(f"gpu-{at}") for at in range(2)]) for name in NAMES
    ]


@dataclass
class Told:
    """A board that hears of changes, and what is there."""

    board: NodeBoard = field(default_factory=lambda: a_board(a_class(), *devices()))
    nodes: dict[str, Any] = field(default_factory=dict)
    uses: dict[str, dict[str, int]] = field(default_factory=dict)
    taken: list[tuple[PodWish, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in NAMES:
            node = a_node_of(name, cordoned=False, tainted=False, cpu=3, zone="x")
            self.change("node", node, at=0)

    def change(self, what: str, value: Any, *, at: int) -> None:
        fleet = self.board.fleet
        match what:
            case "node":
                name = value["metadata"]["name"]
                self.nodes[name] = value
                fleet.put_node(decode_node(value))
                self.board.put_node(value)
            case "gone":
                self.nodes.pop(value, None)
                fleet.remove_node(value)
                self.board.remove_node(value)
            case "use":
                name, cpu = value
                self.uses[name] = {"cpu": cpu, "pods": 1}
                self.board.show_use({name: self.uses[name]})
            case "plan":
                self.plan(*value, at=at)
            case "free":
                self.free(value)
            case "rule":
                rule = a_taint_rule("r", taint=a_taint("dra-console.io/managed"), device="gpu-0")
                if value:
                    fleet.put_taint_rule(decode_taint_rule(rule))
                else:
                    fleet.remove_taint_rule("r")

    def plan(self, wish: PodWish, count: int, *, at: int) -> None:
        claim = decode_claim(a_claim(f"c{at}", requests=[a_request(count=count)]))
        wish = replace(wish, uid=f"pod-{at}")
        kept = plan_pod(self.board, wish, [claim])
        assert comparable(kept) == comparable(plan_pod(self.anew(), wish, [claim]))
        if isinstance(kept, Placed):
            written = replace(claim, allocation=kept.allocations[claim.uid])
            self.board.fleet.put_claim(written)
            self.board.take_pod(wish, node_name=kept.node_name)
            self.taken.append((wish, kept.node_name))

    def free(self, number: int) -> None:
        if number < len(self.taken):
            wish, _ = self.taken.pop(number)
            self.board.let_pod_go(wish.uid)
            self.board.fleet.remove_claim(f"team-research/c{wish.uid.removeprefix('pod-')}")

    def anew(self) -> NodeBoard:
        snapshot = self.board.fleet.snapshot()
        nodes = tuple(sorted(snapshot.nodes, key=lambda node: node.name))
        board = NodeBoard(Fleet(replace(snapshot, nodes=nodes)))
        for node in self.nodes.values():
            board.put_node(node)
        board.show_use(self.uses)
        for wish, node_name in self.taken:
            board.take_pod(wish, node_name=node_name)
        return board


def comparable(plan: Plan) -> tuple[object, ...]:
    match plan:
        case Placed(node_name=node_name, allocations=allocations):
            results: list[AllocationResult] = [*allocations.values()]
            return ("placed", node_name, results)
        case NotPlaced(reason=reason):
            return ("not placed", reason, plan.node_reasons)
    return (plan,)


@settings(max_examples=120, deadline=None)
@given(st.lists(changes, min_size=4, max_size=25))
def test_a_board_that_was_told_of_changes_plans_as_a_new_one(
    told: list[tuple[str, Any]],
) -> None:
    world = Told()
    for at, (what, value) in enumerate(told):
        world.change(what, value, at=at)
