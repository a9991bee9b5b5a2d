import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from nodeagent.devices.details import Details
from nodeagent.devices.errors import DriverChangedError, DriverTimeoutError, NoDriverError
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.gpu_process import ProcessesByDevice
from nodeagent.devices.model import Gpu, Inventory, Reading, Source
from nodeagent.telemetry import sampler as sampler_module
from nodeagent.telemetry.details import DetailsLook
from nodeagent.telemetry.messages import Sample
from nodeagent.telemetry.sampler import Sampler
from tests.builders.agents import a_gpu

WAIT_SECONDS = 10


@dataclass
class ScriptedGpus:
    """A reader whose every look is scripted: GPUs, or the error that NVML would raise."""

    looks: list[tuple[Gpu, ...] | Exception]
    source: Source = Source.NVML
    threads: set[str] = field(default_factory=set)
    is_closed: bool = False

    def discover(self) -> tuple[Gpu, ...]:
        self.threads.add(threading.current_thread().name)
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, Exception):
            raise look
        return look

    def read(self) -> tuple[Reading, ...]:
        self.threads.add(threading.current_thread().name)
        return (Reading(device="gpu-0", uuid="GPU-0", utilisation_percent=3),)

    def details(self) -> tuple[Details, ...]:
        self.threads.add(threading.current_thread().name)
        return (Details(device="gpu-0", fan_percent=30),)

    def processes(self) -> ProcessesByDevice:
        self.threads.add(threading.current_thread().name)
        return {}

    def events(self) -> tuple[DriverEvent, ...]:
        return ()

    def vitals(self) -> tuple[Vitals, ...]:
        return ()

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Sampling:
    """A running sampler, and what it has told."""

    sampler: Sampler
    inventories: list[Inventory]
    samples: list[Sample]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.005)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> "Callable[[ScriptedGpus], Sampling]":
    monkeypatch.setattr(sampler_module, "SAMPLE_SECONDS", 0.01)
    monkeypatch.setattr(sampler_module, "RESCAN_SECONDS", 0.03)
    monkeypatch.setattr(sampler_module, "RETRY_SECONDS", (0.01,))

    def begin(gpus: ScriptedGpus) -> Sampling:
        inventories: list[Inventory] = []
        samples: list[Sample] = []
        sampler = Sampler(
            gpus,
            details=DetailsLook(gpus),
            on_inventory=inventories.append,
            on_sample=samples.append,
        )
        return Sampling(sampler, inventories, samples)

    return begin


def run_until(sampling: Sampling, holds: Callable[[], bool]) -> None:
    thread = threading.Thread(target=sampling.sampler.run, name="owner")
    thread.start()
    try:
        sampling.wait_until(holds)
    finally:
        sampling.sampler.stop()
        thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def test_readings_come_one_after_the_other_from_one_thread(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    gpus = ScriptedGpus([(a_gpu(0),)])
    sampling = start(gpus)

    run_until(sampling, lambda: len(sampling.samples) >= 3)

    assert gpus.threads == {"owner"}
    assert gpus.is_closed
    assert sampling.sampler.readings()["gpu-0"].utilisation_percent == 3
    times = [sample.taken_at for sample in sampling.samples]
    assert times == sorted(times)
    assert {sample.details["gpu-0"].fan_percent for sample in sampling.samples} == {30}


def test_a_rescan_tells_of_new_hardware_and_only_of_new(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    gpus = ScriptedGpus([(a_gpu(0),), (a_gpu(0),), (a_gpu(0), a_gpu(1))])
    sampling = start(gpus)

    run_until(sampling, lambda: len(sampling.inventories) >= 2)

    assert [len(inventory.devices) for inventory in sampling.inventories] == [1, 2]


def test_without_a_driver_the_pool_is_empty_until_one_comes(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    gpus = ScriptedGpus([NoDriverError("no library"), NoDriverError("no library"), (a_gpu(0),)])
    sampling = start(gpus)

    run_until(sampling, lambda: len(sampling.samples) >= 1)

    assert [len(inventory.devices) for inventory in sampling.inventories] == [0, 1]
    assert sampling.sampler.has_looked.is_set()


def test_a_driver_that_goes_takes_the_readings_and_leaves_the_devices(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    gpus = ScriptedGpus([(a_gpu(0),), NoDriverError("unloaded")])
    sampling = start(gpus)

    run_until(
        sampling,
        lambda: len(sampling.samples) >= 1 and not sampling.sampler.readings(),
    )

    assert [len(inventory.devices) for inventory in sampling.inventories] == [1]
    inventory = sampling.sampler.inventory()
    assert inventory is not None
    assert [device.name for device in inventory.devices] == ["gpu-0"]


def test_a_driver_that_hangs_takes_the_readings_leaves_the_devices_and_is_not_closed(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    gpus = ScriptedGpus([(a_gpu(0),), DriverTimeoutError("no answer within 10 s"), (a_gpu(0),)])
    sampling = start(gpus)
    was_without: list[bool] = []

    def read_again_after_a_gap() -> bool:
        was_without.append(len(sampling.samples) > 0 and not sampling.sampler.readings())
        return any(was_without) and bool(sampling.sampler.readings())

    run_until(sampling, read_again_after_a_gap)

    assert [len(inventory.devices) for inventory in sampling.inventories] == [1]


def test_a_replaced_driver_ends_the_thread_with_its_reason(
    start: Callable[[ScriptedGpus], Sampling],
) -> None:
    sampling = start(ScriptedGpus([DriverChangedError("Driver/library version mismatch")]))

    with pytest.raises(DriverChangedError):
        sampling.sampler.run()
