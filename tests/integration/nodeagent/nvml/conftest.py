from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.worker.proxy import WorkerGpus
from tests.fake_nvml.machine import FakeMachine

Connect: TypeAlias = Callable[..., WorkerGpus]


@contextmanager
def connected(
    machine: FakeMachine, mig: MigPolicy = MigPolicy.STATIC, **fields: object
) -> Iterator[WorkerGpus]:
    """Run the agent's side of a machine, worker process and all."""
    gpus = WorkerGpus(
        Settings(driver_root=machine.root, sysfs=machine.sysfs, dev=machine.dev, mig=mig),
        environment={"FAKE_NVML": str(machine.directory / "nvml")},
        **fields,  # type: ignore[arg-type] # the test gives the fields' own types
    )
    try:
        yield gpus
    finally:
        gpus.close()


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    """A machine without GPUs; the driver is there."""
    return FakeMachine(tmp_path / "machine")


@pytest.fixture
def connect(machine: FakeMachine) -> Iterator[Connect]:
    """Make readers of the machine that end with the test."""
    made: list[WorkerGpus] = []

    def make(mig: MigPolicy = MigPolicy.STATIC, **fields: object) -> WorkerGpus:
        context = connected(machine, mig, **fields)
        made.append(context.__enter__())
        return made[-1]

    yield make
    for gpus in made:
        gpus.close()
