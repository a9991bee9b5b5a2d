"""Which node and which devices a pod gets, and what is said if it gets none."""

from typing import Any

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed, Plan, Refused, Undecided
from dra_console.scheduling.planning.wishes import PodWish, wish_of_claim, wish_of_pod
from tests.builders.boards import a_board, a_ready_node
from tests.builders.cases import case_objects
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    an_allocated_claim,
)


def a_world(*more: JsonObject) -> NodeBoard:
    return a_board(
        a_ready_node("gpu-01"),
        a_ready_node("gpu-02"),
        a_class(),
        a_slice(node="gpu-01", devices=[a_device("gpu-0")]),
        a_slice(node="gpu-02", devices=[a_device("gpu-0"), a_device("gpu-1")]),
        *more,
    )


def a_wish(**annotations: str) -> PodWish:
    pod: Any = a_pod("train")
    pod["metadata"]["annotations"] = annotations
    wish = wish_of_pod(pod)
    assert isinstance(wish, PodWish)
    return wish


def planned(board: NodeBoard, *claims: JsonObject, wish: PodWish | None = None) -> Plan:
    return plan_pod(board, wish or a_wish(), [decode_claim(each) for each in claims])


def devices_of(plan: Plan) -> list[str]:
    assert isinstance(plan, Placed), plan
    return [str(each.device_id) for one in plan.allocations.values() for each in one.results]


def test_the_first_node_on_which_all_claims_fit_is_taken() -> None:
    plan = planned(a_world(), a_claim("two", requests=[a_request(count=2)]))

    assert devices_of(plan) == ["gpu.nvidia.com/gpu-02/gpu-0", "gpu.nvidia.com/gpu-02/gpu-1"]
    assert isinstance(plan, Placed)
    assert plan.node_name == "gpu-02"


def test_several_claims_are_placed_together_or_not_at_all() -> None:
    first, second = a_claim("first"), a_claim("second", requests=[a_request(count=2)])

    together = planned(a_world(), first, second)

    assert isinstance(together, NotPlaced)
    assert together.reason == "0 of 2 nodes take it: 2 lack devices"
    assert len(devices_of(planned(a_world(), first, a_claim("other")))) == 2


def test_an_allocated_claim_binds_the_pod_to_its_node() -> None:
    held = an_allocated_claim("held", results=[a_result("gpu-0", pool="gpu-02")], node="gpu-02")

    plan = planned(a_world(held), held, a_claim("fresh"))

    assert devices_of(plan) == ["gpu.nvidia.com/gpu-02/gpu-1"]


def test_an_allocated_claim_whose_node_is_left_out_stands_in_the_way() -> None:
    held = an_allocated_claim("held", results=[a_result("gpu-0", pool="gpu-02")], node="gpu-02")
    board = a_world(held)
    cordoned = a_ready_node("gpu-02")
    cordoned["spec"]["unschedulable"] = True
    board.put_node(cordoned)

    plan = planned(board, held)

    assert isinstance(plan, NotPlaced)
    assert [claim.name for claim in plan.unavailable] == ["held"]
    assert plan.node_reasons["gpu-02"] == "is cordoned"
    assert "held" in plan.node_reasons["gpu-01"]


def test_broken_input_is_not_called_a_lack_of_devices() -> None:
    plan = planned(a_world(), a_claim("broken", requests=[a_request(device_class="no-such")]))

    assert isinstance(plan, Refused)
    assert "no-such" in plan.reason


def test_a_node_whose_search_ran_out_of_steps_leaves_the_others_and_is_named_without_one() -> None:
    many = [a_device(f"gpu-{number}", attributes={"model": "small"}) for number in range(20)]
    big = a_slice(node="gpu-02", devices=[a_device("gpu-0", attributes={"model": "big"})])
    small = a_slice(node="gpu-01", devices=many)
    expression = 'device.attributes["gpu.nvidia.com"].model == "big"'
    asked = decode_claim(a_claim("big", requests=[a_request(selectors=[expression])]))
    both = a_board(a_ready_node("gpu-01"), a_ready_node("gpu-02"), a_class(), small, big)
    one = a_board(a_ready_node("gpu-01"), a_class(), small)

    placed = plan_pod(both, a_wish(), [asked], step_budget=10)

    assert isinstance(placed, Placed)
    assert placed.node_name == "gpu-02"
    assert plan_pod(one, a_wish(), [asked], step_budget=10) == Undecided(
        "the search on gpu-01 ended by its step budget"
    )


def test_a_pod_without_claims_gets_a_node_and_no_devices() -> None:
    assert planned(a_world()) == Placed("gpu-01", {})


def test_devices_for_the_console_alone_are_taken_and_nothing_is_written_of_the_toleration() -> None:
    rule = a_taint_rule("managed", taint=a_taint("dra-console.io/managed", effect="NoSchedule"))
    own = {"key": "example.com/old", "operator": "Exists", "effect": "NoSchedule"}
    request: Any = a_request()
    request["exactly"]["tolerations"] = [own]

    plan = planned(a_world(rule), a_claim("train", requests=[request]))

    assert isinstance(plan, Placed)
    (allocation,) = plan.allocations.values()
    assert [each.to_json() for each in allocation.results[0].tolerations] == [own]


def test_where_devices_are_kept_for_the_console_it_takes_no_others() -> None:
    """No API server notices when kube-scheduler gives the same ones away."""
    elsewhere = a_taint_rule(
        "managed", taint=a_taint("dra-console.io/managed", effect="NoSchedule"), pool="elsewhere"
    )
    watching: Any = a_request(adminAccess=True)

    assert isinstance(planned(a_world(elsewhere), a_claim("train")), NotPlaced)
    # Admin access takes nothing from anybody.
    assert isinstance(planned(a_world(elsewhere), a_claim("watch", requests=[watching])), Placed)


def test_other_taints_of_devices_are_none_of_the_consoles_to_tolerate() -> None:
    rule = a_taint_rule("broken", taint=a_taint("example.com/broken", effect="NoSchedule"))

    assert isinstance(planned(a_world(rule), a_claim("train")), NotPlaced)


def test_a_claim_that_another_pod_is_getting_devices_for_waits_for_it() -> None:
    claim = decode_claim(a_claim("shared"))

    plan = plan_pod(a_world(), a_wish(), [claim], in_flight={claim.uid})

    assert isinstance(plan, NotPlaced)
    assert plan.reason == "claim team-research/shared is being allocated for another pod"


def test_a_claim_has_256_consumers_at_most() -> None:
    """Case 039."""
    objects = case_objects("039-reserved-for-256")
    channel: Any = next(each for each in objects if each["kind"] == "ResourceClaim")
    board = a_board(a_ready_node(), *objects)
    consumers = channel["status"]["reservedFor"]
    assert len(consumers) == 256

    plan = planned(board, channel)

    assert isinstance(plan, NotPlaced)
    assert plan.reason == "claim lab/channel has 256 of 256 consumers"
    first = PodWish(uid=consumers[0]["uid"])
    assert planned(board, channel, wish=first) == Placed("gpu-01", {})
    ended = channel | {"status": channel["status"] | {"reservedFor": consumers[1:]}}
    assert planned(board, ended) == Placed("gpu-01", {})


def test_a_claim_is_reserved_ahead_on_the_node_that_a_pod_without_requests_would_get() -> None:
    claim: Any = a_claim("ahead")
    wish = wish_of_claim(claim)
    assert isinstance(wish, PodWish)

    plan = plan_pod(a_world(), wish, [decode_claim(claim)])

    assert devices_of(plan) == ["gpu.nvidia.com/gpu-01/gpu-0"]
