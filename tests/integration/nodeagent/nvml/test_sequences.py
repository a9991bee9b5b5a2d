"""Random lives of a node whose partitions are made by a driver, through the worker and its pipe.

The same lives as with simulated boards (`tests/unit/nodeagent/test_sequences.py`), fewer of them
(`DRA_DRIVER_SEQUENCES`): here each question goes to another process (node-agent.md 9, point 4).
"""

import os
import random
from collections.abc import Iterable, Iterator, MutableSet
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nodeagent.devices.control import Instance
from nodeagent.devices.model import Gpu
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.simulated_mig import BoardState
from nodeagent.devices.worker.proxy import WorkerGpus
from tests.builders.agents import AgentNode
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import connected
from tests.unit.nodeagent.test_sequences import STEPS, Life

pytestmark = pytest.mark.long

SEQUENCES = int(os.environ.get("DRA_DRIVER_SEQUENCES", "15"))
FIRST_SEED = int(os.environ.get("DRA_NODE_SEED", str(random.randrange(2**31))))


@dataclass
class UsedPartitions(MutableSet[str]):
    """Partitions that processes use; the driver is told of each change."""

    machine: FakeMachine
    gpus: WorkerGpus
    boards: tuple[Gpu, ...]
    uuids: set[str] = field(default_factory=set)

    def __contains__(self, uuid: object) -> bool:
        return uuid in self.uuids

    def __iter__(self) -> Iterator[str]:
        return iter(self.uuids)

    def __len__(self) -> int:
        return len(self.uuids)

    def add(self, value: str) -> None:
        self.update([value])

    def discard(self, value: str) -> None:
        self.uuids.discard(value)
        self._tell()

    def clear(self) -> None:
        self.uuids.clear()
        self._tell()

    def update(self, uuids: Iterable[str]) -> None:
        self.uuids.update(uuids)
        self._tell()

    def _tell(self) -> None:
        self.machine.processes = [
            (gpu.uuid, 100, 1000, instance.gpu_instance_id)
            for gpu in self.boards
            for instance in (self.gpus.instances(gpu.uuid) if self.uuids else ())
            if instance.uuid in self.uuids
        ]
        self.machine.write()


class DriverBoards:
    """The boards of one node behind the driver, looked at as the simulated ones are."""

    def __init__(self, machine: FakeMachine, gpus: WorkerGpus, boards: tuple[Gpu, ...]) -> None:
        self.machine = machine
        self.in_use = UsedPartitions(machine, gpus, boards)
        self.instances = gpus.instances
        self.create_partition = gpus.create_partition
        self.destroy_partition = gpus.destroy_partition
        self.set_mig_mode = gpus.set_mig_mode
        self.set_time_slice = gpus.set_time_slice
        self.set_compute_mode = gpus.set_compute_mode

    def board(self, gpu_uuid: str) -> BoardState:
        instances: tuple[Instance, ...] = self.instances(gpu_uuid)
        time_slice = self.machine.time_slice(gpu_uuid)
        return BoardState(is_mig_on=True, instances=instances, time_slice=time_slice)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeMachine, WorkerGpus]]:
    machine = FakeMachine(tmp_path_factory.mktemp("machine"))
    machine.add("A100-40", mig=1)
    machine.add("A100-40", mig=1)
    # A guest of a vGPU host never has partitions made: this one is given out whole.
    machine.add("H100-80", virtualization=2)
    with connected(machine, MigPolicy.DYNAMIC) as gpus:
        yield machine, gpus


@pytest.mark.timeout(max(300, 10 * SEQUENCES))
def test_no_sequence_uses_a_partition_of_the_driver_twice_or_leaves_one(
    node: tuple[FakeMachine, WorkerGpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, gpus = node
    boards = gpus.discover()
    # Nobody pulls the plug of this machine: waiting for its disk proves nothing.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)

    class DriverNode(AgentNode):
        """Power comes back without partitions and time slices."""

        def _power_up(self) -> None:
            machine.processes.clear()
            machine.has_partitions()
            machine.has_time_slices()
            machine.write()
            self.boards = DriverBoards(machine, gpus, boards)  # type: ignore[assignment] # the same to all who use it

    for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
        life = Life(tmp_path / str(seed), random.Random(seed), boards=boards, node=DriverNode)
        try:
            for _ in range(STEPS):
                life.step()
                life.check()
            life.end()
        except AssertionError as error:
            pytest.fail(f"DRA_NODE_SEED={seed}: {error}")
    assert not [line for line in machine.mig() if line.startswith(("gi", "ci"))]
