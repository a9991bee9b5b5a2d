"""Random lives of a node whose partitions are made by a driver, through the worker and its pipe.

The same lives as with simulated boards (`tests/unit/nodeagent/test_sequences.py`), fewer of them
(`DRA_DRIVER_SEQUENCES`): here each question goes to another process (node-agent.md 9, point 4).
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableSet
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import NoDriverError
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
KILLS_PER_STEP = 0.06
PATIENCE_SECONDS = 30
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
        self.gpus = gpus
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
    # Nobody pulls the plug of this machine: waiting for its disk proves nothing.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)

    for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
        live(seed, tmp_path / str(seed), machine, gpus)

    assert parts(machine) == []


@pytest.mark.timeout(max(300, 30 * SEQUENCES))
def test_a_worker_killed_at_any_moment_leaves_no_partition_and_breaks_no_promise(
    node: tuple[FakeMachine, WorkerGpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, gpus = node
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    killed = 0
    chance = random.Random(FIRST_SEED)
    # Between the two halves of a partition there is time enough to die.
    machine.delays = {"nvmlGpuInstanceCreateComputeInstance": 20, "nvmlGpuInstanceDestroy": 20}

    @contextmanager
    def killing() -> Iterator[None]:
        nonlocal killed
        pid = gpus.worker_pid
        if pid is None or chance.random() > KILLS_PER_STEP:
            yield
            return
        killed += 1
        timer = threading.Timer(chance.uniform(0, 0.05), os.kill, (pid, signal.SIGKILL))
        timer.start()
        try:
            # What asks the boards without an agent between them sees the worker die.
            with suppress(NoDriverError):
                yield
        finally:
            timer.join()
            wait_until_gone(gpus, pid)

    for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
        live(seed, tmp_path / str(seed), machine, gpus, around_each_step=killing)

    machine.delays = {}
    machine.write()
    assert parts(machine) == []
    assert killed > SEQUENCES / 4


def live(
    seed: int,
    directory: Path,
    machine: FakeMachine,
    gpus: WorkerGpus,
    *,
    around_each_step: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Live one life; the seed repeats it but for the moments of the other processes."""
    boards = gpus.discover()

    class DriverNode(AgentNode):
        """Power comes back without partitions and time slices."""

        def _power_up(self) -> None:
            machine.processes.clear()
            machine.has_partitions()
            machine.has_time_slices()
            machine.write()
            self.boards = DriverBoards(machine, gpus, boards)  # type: ignore[assignment] # the same to all who use it

    life = Life(directory, random.Random(seed), boards=boards, node=DriverNode)
    try:
        for _ in range(STEPS):
            with around_each_step():
                life.step()
            life.check()
        life.end()
    except AssertionError as error:
        pytest.fail(f"DRA_NODE_SEED={seed}: {error}")


def parts(machine: FakeMachine) -> list[str]:
    return [line for line in machine.mig() if line.startswith(("gi", "ci"))]


def wait_until_gone(gpus: WorkerGpus, pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while gpus.worker_pid == pid:
        assert time.monotonic() < deadline
        time.sleep(0.01)
