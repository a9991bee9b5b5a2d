"""Effort is an output: hopeless searches end in few steps, or with a typed outcome."""

import subprocess
import sys

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.search import Allocated, BudgetExhausted, allocate
from dra_console.allocator.world.index import index_of
from tests.builders.objects import a_claim, a_class, a_device, a_node, a_request, a_slice
from tests.unit.allocator.worlds import claim, counters, dev, outcome, pool, r

ROOT = "gpu.nvidia.com/root"


def distinguishable(count: int) -> list[JsonObject]:
    """Build devices that differ in what every request reads, so that none can be skipped."""
    return [dev(f"x{index}", attributes={"n": index}) for index in range(count)]


def test_eight_that_match_of_eight_in_many_groups() -> None:
    devices = [
        a_device(f"gpu-{index}", attributes={"root": index % 8, "uuid": f"GPU-{index}"})
        for index in range(64)
    ]
    world = decode_snapshot([a_node(), a_class(), a_slice(devices=devices)])
    asked = a_claim(requests=[a_request(count=9)], constraints=[{"matchAttribute": ROOT}])

    found = allocate(world, [decode_claim(asked)], node=world.nodes[0])

    assert not isinstance(found, Allocated | BudgetExhausted)
    assert found.steps < 10_000


def test_32_devices_in_32_requests() -> None:
    found = outcome(
        [claim(*(r(f"r{index}") for index in range(32)))], [pool("p", *distinguishable(40))]
    )

    assert isinstance(found, Allocated)
    assert found.steps < 2_000


def test_partitions_of_nearly_full_boards() -> None:
    devices = [dev(f"x{index}", uses={"c": {"mem": "3"}}) for index in range(60)]
    world = [counters("p", part="1/2", c={"mem": "94"}), pool("p", *devices, part="2/2")]

    found = outcome([claim(r(count=32))], world)

    assert not isinstance(found, Allocated | BudgetExhausted)
    assert found.steps < 5_000


def places(start: int, end: int) -> dict[str, str]:
    return {f"place-{place}": "1" for place in range(start, end)}


def a_board(name: str) -> list[JsonObject]:
    """Build the partitions of one GPU: of 4, 2 and 1 of its 8 places."""
    return [
        dev(
            f"{name}-{size}-{start}",
            uses={name: {"total": str(size)} | places(start, start + size)},
        )
        for size in (4, 2, 1)
        for start in range(0, 8, size)
    ]


def test_one_partition_more_than_the_places_of_two_boards() -> None:
    board = {"total": "8"} | places(0, 8)
    world = [
        counters("p", part="1/2", b0=board, b1=board),
        pool("p", *a_board("b0"), *a_board("b1"), part="2/2"),
    ]

    fitting = outcome([claim(r(count=16))], world)
    hopeless = outcome([claim(r(count=17))], world)

    assert isinstance(fitting, Allocated)
    assert fitting.steps < 2_000
    assert not isinstance(hopeless, Allocated | BudgetExhausted)
    assert hopeless.steps < 200


def test_pod_may_ask_for_more_devices_than_python_has_frames() -> None:
    sizes = [32] * 40
    slices: list[JsonObject] = [
        pool(f"p{number}", *(dev(f"x{index}") for index in range(128))) for number in range(10)
    ]

    found = outcome([claim(r(count=size)) for size in sizes], slices)

    assert isinstance(found, Allocated)
    assert sum(len(result.results) for result in found.results) == sum(sizes)


def test_snapshot_is_indexed_once() -> None:
    snapshot = decode_snapshot([a_node(), a_slice()])

    assert index_of(snapshot) is index_of(snapshot)


def test_library_loads_no_framework() -> None:
    frameworks = {"django", "celery", "kubernetes", "redis", "channels"}
    program = (
        "import sys, dra_console.allocator.explanation.explain; "
        "import dra_console.allocator.validation.validate; "
        f"sys.exit(sorted({frameworks!r} & set(sys.modules)) or 0)"
    )

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert loaded.stderr.decode() == ""
    assert loaded.returncode == 0


def test_capacity_of_a_claim_is_kept_exact() -> None:
    big: Json = {"value": "9007199254740993"}
    device = dev("x") | {"capacity": {"k": big}, "allowMultipleAllocations": True}
    asked = claim(r("r", "As"))

    found = outcome([asked], [pool("p", device)])

    assert isinstance(found, Allocated)
    assert found.results[0].to_json()["devices"] is not None
    consumed = found.results[0].results[0].consumed_capacity
    assert consumed is not None
    assert str(consumed["k"]) == "9007199254740993"
