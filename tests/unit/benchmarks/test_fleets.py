from collections.abc import Sequence

import pytest

from benchmarks.fleets import World, gpu_fleet
from benchmarks.partitions import partitioned_fleet, shared_fleet
from dra_console.allocator.model import Device
from dra_console.allocator.validation.validate import validate_claim, validate_class, validate_slice

VALIDATORS = {
    "ResourceSlice": validate_slice,
    "DeviceClass": validate_class,
    "ResourceClaim": validate_claim,
}


def devices_of(world: World) -> Sequence[Device]:
    return [device for each in world.snapshot.slices for device in each.devices]


@pytest.mark.parametrize(
    "world",
    [
        gpu_fleet("gpus", nodes=12, gpus=10, held=[(0, 1)]),
        partitioned_fleet("mig", nodes=1, boards=4, held=[(0, 0, "1g.10gb-0")]),
        shared_fleet("shared", nodes=2, gpus=4, booked_nodes=1, booked=40),
    ],
    ids=lambda world: world.name,
)
def test_fleets_hold_what_the_api_server_would_accept(world: World) -> None:
    for each in world.objects:
        if each["kind"] in VALIDATORS and "status" not in each:
            assert VALIDATORS[str(each["kind"])](each) == ()


def test_no_two_gpus_of_a_fleet_are_equal_and_none_of_a_node_share_an_address() -> None:
    devices = devices_of(gpu_fleet("gpus", nodes=12, gpus=8))

    assert len({device.attributes["uuid"] for device in devices}) == 12 * 8
    addresses = [each.attributes["resource.kubernetes.io/pciBusID"] for each in devices[:8]]
    assert len(set(addresses)) == 8


def test_four_boards_have_the_64_partitions_of_the_scenario() -> None:
    assert len(devices_of(partitioned_fleet("mig", nodes=1, boards=4))) == 64


def test_holders_hold_the_named_devices() -> None:
    world = gpu_fleet("gpus", nodes=2, gpus=4, held=[(0, 1), (1, 3)])

    held = [
        each.allocation.results[0].device_id for each in world.snapshot.claims if each.allocation
    ]
    assert [str(each) for each in held] == [
        "gpu.nvidia.com/node-00000/gpu-1",
        "gpu.nvidia.com/node-00001/gpu-3",
    ]
