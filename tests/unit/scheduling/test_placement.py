from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.planning.placement import NotDecided, NotPlaced, Placed, place
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)


def a_world(*more: JsonObject) -> list[JsonObject]:
    return [
        a_node("gpu-01"),
        a_node("gpu-02"),
        a_class(),
        a_slice(node="gpu-01", devices=[a_device("gpu-0")]),
        a_slice(node="gpu-02", devices=[a_device("gpu-0"), a_device("gpu-1")]),
        *more,
    ]


def test_the_first_node_on_which_all_claims_fit_is_taken() -> None:
    snapshot = decode_snapshot(a_world())
    wants_two = decode_claim(a_claim("wants-two", requests=[a_request(count=2)]))

    answer = place(snapshot, [wants_two], nodes=snapshot.nodes, node_reasons={})

    assert isinstance(answer, Placed)
    assert answer.node_name == "gpu-02"
    assert [result.device for result in answer.allocations[0].results] == ["gpu-0", "gpu-1"]


def test_a_pod_that_fits_nowhere_is_not_placed_and_keeps_the_reasons_of_left_out_nodes() -> None:
    snapshot = decode_snapshot(a_world())
    wants_three = decode_claim(a_claim("wants-three", requests=[a_request(count=3)]))
    reasons = {"gpu-01": "the node is cordoned"}

    answer = place(snapshot, [wants_three], nodes=snapshot.nodes[1:], node_reasons=reasons)

    assert isinstance(answer, NotPlaced)
    assert answer.node_reasons == reasons


def test_an_allocated_claim_binds_the_pod_to_its_node() -> None:
    held = an_allocated_claim("held", results=[a_result("gpu-0", pool="gpu-02")], node="gpu-02")
    snapshot = decode_snapshot(a_world(held))
    claims = [decode_claim(held), decode_claim(a_claim("fresh"))]

    answer = place(snapshot, claims, nodes=snapshot.nodes, node_reasons={})

    assert isinstance(answer, Placed)
    assert answer.node_name == "gpu-02"
    assert [result.device for result in answer.allocations[0].results] == ["gpu-1"]


def test_an_allocated_claim_whose_node_is_left_out_stands_in_the_way() -> None:
    held = an_allocated_claim("held", results=[a_result("gpu-0", pool="gpu-02")], node="gpu-02")
    snapshot = decode_snapshot(a_world(held))

    answer = place(snapshot, [decode_claim(held)], nodes=snapshot.nodes[:1], node_reasons={})

    assert isinstance(answer, NotPlaced)
    assert [claim.name for claim in answer.unavailable] == ["held"]


def test_broken_input_is_not_called_a_lack_of_devices() -> None:
    snapshot = decode_snapshot(a_world())
    broken = decode_claim(a_claim("broken", requests=[a_request(device_class="no-such-class")]))

    answer = place(snapshot, [broken], nodes=snapshot.nodes, node_reasons={})

    assert isinstance(answer, NotDecided)
    assert "no-such-class" in answer.reason


def test_a_node_whose_search_ran_out_of_steps_leaves_the_others_and_is_named_without_one() -> None:
    many = [a_device(f"gpu-{number}", attributes={"model": "small"}) for number in range(20)]
    snapshot = decode_snapshot(
        [
            a_node("gpu-01"),
            a_node("gpu-02"),
            a_class(),
            a_slice(node="gpu-01", devices=many),
            a_slice(node="gpu-02", devices=[a_device("gpu-0", attributes={"model": "big"})]),
        ]
    )
    expression = 'device.attributes["gpu.nvidia.com"].model == "big"'
    asked = [decode_claim(a_claim("big", requests=[a_request(selectors=[expression])]))]

    placed = place(snapshot, asked, nodes=snapshot.nodes, node_reasons={}, step_budget=10)
    undecided = place(snapshot, asked, nodes=snapshot.nodes[:1], node_reasons={}, step_budget=10)

    assert isinstance(placed, Placed)
    assert placed.node_name == "gpu-02"
    assert undecided == NotDecided("the search on gpu-01 ended by its step budget")
