"""GPUs that do not exist, for the demo and for tests of everything above the driver.

It ships as a feature and is chosen by `--simulate` alone; every device carries the attribute
`simulated`, and the live wire says `source: simulated`. A device shows load only while a claim
has it prepared, because that is the only thing on the node that could use it.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from nodeagent.devices.control import Instance
from nodeagent.devices.details import Details
from nodeagent.devices.errors import DriverTimeoutError
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.gpu_process import ProcessesByDevice
from nodeagent.devices.mig import Partition
from nodeagent.devices.model import Device, Gpu, Inventory, Reading, Source
from nodeagent.devices.profiles import MEBIBYTE, PROFILES, Board, gpus
from nodeagent.devices.simulated_details import gpu_details
from nodeagent.devices.simulated_faults import SimulatedFaults
from nodeagent.devices.simulated_mig import SimulatedMig

AMBIENT_CELSIUS = 31
CELSIUS_AT_FULL_POWER = 74
STATE_FILE: Final = "simulated-boards.json"
FAULTS_FILE: Final = "simulated-faults.json"
MEMORY_STEP_FRACTION = 0.07
"""Share of its goal by which a workload's memory grows each second."""


@dataclass(slots=True)
class Load:
    """The workload on one device: a slow random walk towards a level that it now and then changes.

    Stepped once a second, whoever watches or not, so that a page opened later sees a history.
    """

    chance: random.Random
    utilisation: float = 0.0
    goal: float = 0.0
    memory_fraction: float = 0.0
    memory_goal: float = 0.0
    celsius: float = AMBIENT_CELSIUS
    is_busy: bool = False
    millijoules: int = 0

    def step(self, *, busy: bool) -> None:
        """Advance by one second."""
        if busy and not self.is_busy:
            self.memory_goal = self.chance.uniform(0.45, 0.92)
        if busy and (not self.is_busy or self.chance.random() < 1 / 40):
            self.goal = self.chance.choice(
                (self.chance.uniform(78, 99), self.chance.uniform(25, 90))
            )
        if not busy:
            self.goal = self.memory_goal = 0.0
        self.is_busy = busy
        noise = self.chance.gauss(0, 2.5) if busy else 0.0
        self.utilisation += 0.25 * (self.goal - self.utilisation) + noise
        self.utilisation = min(100.0, max(0.0, self.utilisation))
        if self.memory_fraction < self.memory_goal:
            grown = self.memory_fraction + MEMORY_STEP_FRACTION * self.memory_goal
            self.memory_fraction = min(self.memory_goal, grown)
        elif not busy:
            self.memory_fraction = 0.0
        warm = AMBIENT_CELSIUS + (CELSIUS_AT_FULL_POWER - AMBIENT_CELSIUS) * self.utilisation / 100
        self.celsius += 0.06 * (warm - self.celsius)


@dataclass(slots=True)
class SimulatedGpus:
    """The GPUs of one profile on one node. Implements `GpuReader` and `GpuControl`."""

    profile: str
    node_name: str
    prepared_devices: Callable[[], Collection[str]]
    """Names of the devices that claims on this node have prepared now."""

    is_dynamic: bool = False
    """Whether boards outside MIG mode have partitions made for claims, too."""

    directory: Path | None = None
    """Where the boards' state outlives the process, and faults can be asked for."""

    boot_id: str = ""
    source: Source = field(default=Source.SIMULATED, init=False)
    faults: SimulatedFaults = field(init=False)
    mig: SimulatedMig = field(init=False)
    _gpus: tuple[Gpu, ...] = field(init=False)
    _readings: tuple[Reading, ...] = field(default=(), init=False)
    _loads: dict[str, Load] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _answered_at: float = field(default_factory=time.monotonic, init=False)
    _vitals: tuple[Vitals, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._gpus = gpus(self.profile, node_name=self.node_name, is_dynamic=self.is_dynamic)
        directory = self.directory
        self.faults = SimulatedFaults(file=directory / FAULTS_FILE if directory else None)
        self.mig = SimulatedMig(
            {gpu.uuid: gpu for gpu in self._gpus},
            file=directory / STATE_FILE if directory else None,
            boot_id=self.boot_id,
        )

    def discover(self) -> tuple[Gpu, ...]:
        """Find all GPUs, lost ones too: they are known, and their vitals say that they are lost."""
        self.faults.pass_through()
        return self._discovered()

    def read(self) -> tuple[Reading, ...]:
        """Read whole GPUs always, partitions while they are prepared or exist."""
        self.faults.pass_through()
        busy = self.prepared_devices()
        there = tuple(gpu for gpu in self._discovered() if not self.faults.is_lost(gpu))
        inventory = Inventory.of(there, source=self.source)
        with self._lock:
            self._readings = tuple(
                self._reading(device, busy=device.name in busy)
                for device in inventory.devices
                if device.partition is None or device.name in busy or device.partition.instance
            )
            return self._readings

    def details(self) -> tuple[Details, ...]:
        """Tell what fits the last readings."""
        self.faults.pass_through()
        gpus = {gpu.name: gpu for gpu in self._gpus}
        with self._lock:
            return tuple(
                self._details(reading, gpus[reading.device])
                if reading.device in gpus
                else Details(device=reading.device)
                for reading in self._readings
            )

    def processes(self) -> ProcessesByDevice:
        """Return none: nothing can run on what does not exist."""
        self.faults.pass_through()
        with self._lock:
            return {reading.device: () for reading in self._readings}

    def events(self) -> tuple[DriverEvent, ...]:
        return self.faults.events(self._gpus)

    def vitals(self) -> tuple[Vitals, ...]:
        try:
            self.faults.pass_through()
        except DriverTimeoutError:
            age_seconds = time.monotonic() - self._answered_at
            return tuple(replace(one, age_seconds=age_seconds) for one in self._vitals)
        self._answered_at = time.monotonic()
        self._vitals = tuple(self.faults.vitals(gpu) for gpu in self._gpus)
        return self._vitals

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        self.faults.pass_through()
        return self.mig.create_partition(gpu_uuid, profile_id, start)

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        self.faults.pass_through()
        self.mig.destroy_partition(gpu_uuid, instance)

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        self.faults.pass_through()
        return self.mig.board(gpu_uuid).instances

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: FBT001 - as in GpuControl
        self.faults.pass_through()
        self.mig.set_mig_mode(gpu_uuid, enabled)

    def set_time_slice(self, gpu_uuid: str, interval: int) -> None:
        self.faults.pass_through()
        self.mig.set_time_slice(gpu_uuid, interval)

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: FBT001 - as in GpuControl
        self.faults.pass_through()
        self.mig.set_compute_mode(gpu_uuid, exclusive)

    def close(self) -> None:
        with self._lock:
            self._loads.clear()

    def _discovered(self) -> tuple[Gpu, ...]:
        return tuple(self.mig.now(gpu) for gpu in self._gpus)

    def _reading(self, device: Device, *, busy: bool) -> Reading:
        seed = device.uuid or device.name
        load = self._loads.get(seed)
        if load is None:
            # A simulation wants the same life after each start, not secrecy.
            chance = random.Random(uuid.uuid5(uuid.NAMESPACE_OID, seed).int)  # noqa: S311 - not for cryptography
            load = self._loads.setdefault(seed, Load(chance))
        load.step(busy=busy)
        if device.partition is not None:
            return _partition_reading(device.name, device.partition, load)
        reading = _gpu_reading(device, load, board=self._board(device.gpu))
        load.millijoules += reading.power_milliwatts or 0
        return reading

    def _details(self, reading: Reading, gpu: Gpu) -> Details:
        load = self._loads.get(gpu.uuid)
        return gpu_details(
            reading,
            gpu,
            self._board(gpu),
            energy_millijoules=0 if load is None else load.millijoules,
            recovery_action=self.faults.vitals(gpu).recovery_action,
        )

    def _board(self, gpu: Gpu) -> Board:
        return PROFILES[self.profile][gpu.minor].board


def _gpu_reading(device: Device, load: Load, *, board: Board) -> Reading:
    activity = load.utilisation / 100
    watts_above_idle = board.maximum_milliwatts - board.idle_milliwatts
    is_awake = load.utilisation >= 1
    return Reading(
        device=device.name,
        uuid=device.gpu.uuid,
        utilisation_percent=round(load.utilisation),
        memory_used_bytes=int(load.memory_fraction * device.gpu.memory_bytes),
        memory_total_bytes=device.gpu.memory_bytes,
        power_milliwatts=board.idle_milliwatts + round(watts_above_idle * activity**0.8),
        temperature_celsius=round(load.celsius),
        sm_clock_megahertz=board.maximum_megahertz if is_awake else board.idle_megahertz,
        process_count=0,
    )


def _partition_reading(name: str, partition: Partition, load: Load) -> Reading:
    """NVML has no utilisation, power, temperature or clock of a partition, only its memory."""
    total_bytes = partition.profile.memory_mebibytes * MEBIBYTE
    return Reading(
        device=name,
        uuid=partition.uuid or name,
        memory_used_bytes=int(load.memory_fraction * total_bytes),
        memory_total_bytes=total_bytes,
        process_count=0,
    )
