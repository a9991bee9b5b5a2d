"""From a claim for partitions to what its containers get: worker, driver's numbers, CDI file."""

import json
from dataclasses import replace
from pathlib import Path

from nodeagent.claims.effects import Effects
from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.settings import MigPolicy
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod, reference_to
from tests.builders.drivers import FakeDriver, a_proc
from tests.builders.objects import DRIVER, NODE
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import Connect

GPU_INSTANCES = range(1, 15)


def a_result(device: str) -> JsonObject:
    return {"request": "gpu", "driver": DRIVER, "pool": NODE, "device": device}


def minors_of(gpu_instance: int) -> tuple[int, int]:
    """Number capabilities as the driver does: apart for each instance, in no other order."""
    return 100 + 9 * gpu_instance, 101 + 9 * gpu_instance


def test_each_new_partition_is_its_gpu_and_the_two_capabilities_of_its_own_instance(
    machine: FakeMachine, connect: Connect, tmp_path: Path
) -> None:
    gpu = machine.add("A100-40", mig=1)
    driver = FakeDriver(machine.directory)
    driver.install()
    a_proc(driver)
    for gpu_instance in GPU_INSTANCES:
        driver.instance(0, gpu_instance, minors=minors_of(gpu_instance))
    gpus = connect(MigPolicy.DYNAMIC)
    inventory = Inventory.of(gpus.discover(), source=Source.NVML)
    node = AgentNode(tmp_path / "node", inventory=inventory, edits=driver.edits())
    effects = Effects(control=gpus, mps=node.execution.effects.mps)
    node.preparer = replace(node.preparer, execution=replace(node.execution, effects=effects))
    names = ("gpu-0-mig-1g5gb-19-3", "gpu-0-mig-2g10gb-14-0")
    claim = a_claim_of_pod(*(a_result(name) for name in names))
    node.claims.put(claim)

    prepared = node.prepare(claim)

    assert isinstance(prepared, tuple), prepared
    spec = json.loads(node.cdi_file(claim).read_text())
    made = {one.start: one.gpu_instance_id for one in gpus.instances(gpu)}
    for device, start in zip(spec["devices"], (3, 0), strict=True):
        nodes = device["containerEdits"]["deviceNodes"]
        assert [node["path"] for node in nodes] == [
            "/dev/nvidia0",
            *(f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in minors_of(made[start])),
        ]
    assert [one["name"] for one in spec["devices"]] == [
        f"{reference_to(claim).uid}-{name}" for name in names
    ]

    assert node.unprepare(claim) is None
    assert gpus.instances(gpu) == ()
    assert not node.cdi_file(claim).exists()
