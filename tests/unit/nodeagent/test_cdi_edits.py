from pathlib import Path

import pytest

from nodeagent.cdi.edits import CONTROL_NODES, EditsSource, NvidiaEdits, SimulatedEdits
from nodeagent.cdi.errors import CdiError, MissingNodeError
from nodeagent.cdi.spec import build, device_name, qualified_name
from nodeagent.cdi.validate import problems
from nodeagent.devices.model import Device, Inventory
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory

UID = "77777777-0000-4000-8000-000000000063"


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """A `/dev` whose NVIDIA nodes are links to a real, harmless character device."""
    for name in (*CONTROL_NODES, "nvidia0"):
        (tmp_path / name).symlink_to("/dev/null")
    return tmp_path


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


def test_a_real_gpu_brings_its_node_and_the_control_nodes(dev: Path) -> None:
    spec = spec_of(NvidiaEdits(dev), an_inventory().devices[0])

    assert problems(spec) == ()
    assert spec["devices"] == [
        {
            "name": f"{UID}-gpu-0",
            "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]},
        }
    ]
    assert spec["containerEdits"] == {
        "env": ["NVIDIA_VISIBLE_DEVICES=void"],
        "deviceNodes": [{"path": f"/dev/{name}"} for name in CONTROL_NODES],
    }


def test_a_missing_node_is_an_error_that_names_it(dev: Path) -> None:
    with pytest.raises(MissingNodeError, match=f"gpu-5 needs {dev}/nvidia5"):
        NvidiaEdits(dev).of(Device("gpu-5", a_gpu(5)))

    (dev / "nvidia-uvm").unlink()

    with pytest.raises(MissingNodeError, match=f"CUDA needs {dev}/nvidia-uvm"):
        NvidiaEdits(dev).common()


def test_a_file_in_place_of_a_node_is_no_node(dev: Path) -> None:
    (dev / "nvidia5").write_text("")

    with pytest.raises(MissingNodeError, match="no character device"):
        NvidiaEdits(dev).of(Device("gpu-5", a_gpu(5)))


def test_partitions_of_real_gpus_are_refused_rather_than_half_injected(dev: Path) -> None:
    with pytest.raises(CdiError, match="cannot be prepared yet"):
        NvidiaEdits(dev).of(a_mig_inventory().devices[0])


def test_names_hold_claim_device_and_share() -> None:
    assert device_name(UID, "gpu-0", share_id="s1") == f"{UID}-gpu-0-s1"
    assert qualified_name("gpu.nvidia.com", f"{UID}-gpu-0") == (
        f"k8s.gpu.nvidia.com/claim={UID}-gpu-0"
    )
