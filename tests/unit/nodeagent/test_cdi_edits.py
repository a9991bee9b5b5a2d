import pytest

from nodeagent.cdi.edits import Access, EditsSource, SimulatedEdits
from nodeagent.cdi.spec import (
    ContainerEdits,
    DeviceNode,
    Mount,
    build,
    device_name,
    qualified_name,
)
from nodeagent.cdi.validate import problems
from nodeagent.devices.model import Device, Inventory
from tests.builders.agents import a_mig_inventory, an_inventory

UID = "77777777-0000-4000-8000-000000000063"


def spec_of(edits: EditsSource, *devices: Device) -> dict[str, object]:
    named = {device_name(UID, device.name): edits.of(device) for device in devices}
    return dict(build("gpu.nvidia.com", devices=named, common=edits.common()))


@pytest.mark.parametrize("inventory", [an_inventory(), a_mig_inventory()], ids=["gpus", "mig"])
def test_every_device_of_a_simulated_node_makes_a_valid_file(inventory: Inventory) -> None:
    for device in inventory.devices:
        assert problems(spec_of(SimulatedEdits(), device)) == ()
    assert problems(spec_of(SimulatedEdits(), *inventory.devices)) == ()


def test_a_simulated_gpu_is_the_null_device_and_says_so() -> None:
    spec = spec_of(SimulatedEdits(), an_inventory().devices[0])

    assert spec == {
        "cdiVersion": "0.5.0",
        "kind": "k8s.gpu.nvidia.com/claim",
        "devices": [
            {
                "name": f"{UID}-gpu-0",
                "containerEdits": {
                    "env": ["DRA_SIMULATED_GPU_0=GPU-0"],
                    "deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/null"}],
                },
            }
        ],
        "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
    }


def test_a_simulated_partition_has_exactly_three_nodes_of_its_own() -> None:
    devices = a_mig_inventory().devices
    nodes = [
        tuple(node.path for node in SimulatedEdits().of(device).device_nodes) for device in devices
    ]

    assert all(len(paths) == 3 for paths in nodes)
    assert len({paths[1:] for paths in nodes}) == len(devices)


def test_administrators_also_get_the_simulated_nodes_for_watching_partitions() -> None:
    device = a_mig_inventory().devices[0]
    plain = SimulatedEdits().of(device).device_nodes
    administrative = SimulatedEdits().of(device, Access(is_administrative=True)).device_nodes

    assert administrative[: len(plain)] == plain
    assert [node.path for node in administrative[len(plain) :]] == [
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/nvidia-caps/nvidia-cap2",
    ]


def test_edits_are_added_in_order_and_said_once() -> None:
    node = DeviceNode("/dev/a", "/dev/a")
    mount = Mount("/host", "/container")
    one = ContainerEdits(env=("A=1",), device_nodes=(node,), additional_gids=(44,))
    other = ContainerEdits(env=("B=2", "A=1"), device_nodes=(node,), mounts=(mount,))

    assert one.merged(other, other) == ContainerEdits(
        env=("A=1", "B=2"), device_nodes=(node,), mounts=(mount,), additional_gids=(44,)
    )


def test_names_hold_claim_device_and_share() -> None:
    assert device_name(UID, "gpu-0", share_id="s1") == f"{UID}-gpu-0-s1"
    assert qualified_name("gpu.nvidia.com", f"{UID}-gpu-0") == (
        f"k8s.gpu.nvidia.com/claim={UID}-gpu-0"
    )
