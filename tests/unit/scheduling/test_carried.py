from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import JsonObject
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import index_of
from dra_console.scheduling.world.carried import Carried
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_result,
    a_slice,
    an_allocated_claim,
)


def with_uid(claim: JsonObject, uid: str) -> JsonObject:
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    return claim | {"metadata": metadata | {"uid": uid}}


def a_cluster(*claims: JsonObject) -> Carried:
    devices = [a_device("gpu-0"), a_device("gpu-1")]
    nodes = ("gpu-01", "gpu-02")
    everywhere = a_slice("shared", node=None, allNodes=True, pool="shared", devices=devices)
    return Carried(
        decode_snapshot(
            [
                *map(a_node, nodes),
                *(a_slice(node=name, devices=devices) for name in nodes),
                everywhere,
                a_class(),
                *claims,
            ]
        )
    )


def test_what_was_written_holds_its_devices_and_nothing_is_derived_again() -> None:
    carried = a_cluster(with_uid(a_claim("first"), "1"), with_uid(a_claim("second"), "2"))
    before = index_of(carried.snapshot)
    written = an_allocated_claim("first", results=[a_result("gpu-0", pool="gpu-01")])

    carried.take([decode_claim(with_uid(written, "1"))])

    index = index_of(carried.snapshot)
    found = first_fit(index, [carried.claims["2"]])
    assert [each.uid for each in carried.snapshot.claims] == ["1", "2"]
    assert carried.claims["1"].allocation is not None
    assert [str(held) for held in index.usage.holders] == ["gpu.nvidia.com/gpu-01/gpu-0"]
    assert isinstance(found.outcome, Allocated)
    assert [each.device for each in found.outcome.results[0].results] == ["gpu-1"]
    assert index.inventory is before.inventory
    assert not before.usage.holders


def test_held_devices_are_counted_on_as_claims_are_written() -> None:
    held = an_allocated_claim("held", results=[a_result("gpu-1", pool="gpu-02")])
    watching = an_allocated_claim(
        "watching", results=[a_result("gpu-1", pool="gpu-02") | {"adminAccess": True}]
    )
    of_all = an_allocated_claim("of-all", results=[a_result("gpu-1", pool="shared")])
    carried = a_cluster(
        with_uid(held, "1"),
        with_uid(watching, "2"),
        with_uid(a_claim("waits"), "3"),
        with_uid(of_all, "4"),
    )

    assert carried.held_devices == {"gpu-02": 1}
    written = an_allocated_claim(
        "waits", results=[a_result(name, pool="gpu-01") for name in ("gpu-0", "gpu-1")]
    )
    carried.take([decode_claim(with_uid(written, "3"))])
    carried.take([decode_claim(with_uid(written, "3"))])

    assert carried.held_devices == {"gpu-01": 2, "gpu-02": 1}
    assert [claim.uid for claim in carried.snapshot.claims] == ["1", "2", "3", "4"]


def test_nodes_stand_in_the_order_that_is_asked_for_without_unknown_ones() -> None:
    nodes = a_cluster().nodes(["gpu-02", "gpu-03", "gpu-01"])

    assert [node.name for node in nodes] == ["gpu-02", "gpu-01"]


def test_a_claim_that_is_not_known_is_not_taken_in() -> None:
    carried = a_cluster()

    carried.take([decode_claim(with_uid(an_allocated_claim("foreign"), "9"))])

    assert not carried.snapshot.claims
    assert not carried.held_devices
