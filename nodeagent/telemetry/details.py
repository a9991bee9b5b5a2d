"""What is looked at less often than readings: details of devices, and the processes on them.

Both are shown on one device's page, never on a board of many: ten and thirty seconds are soon
enough, and cost a tenth of what they would cost each second (node-agent.md 6.1).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Protocol

from nodeagent.devices.details import Details, DetailsReader, DeviceProcess
from nodeagent.devices.gpu_process import GpuProcess, ProcessesByDevice, ProcessLister
from nodeagent.usage.procfs import Procfs

DETAILS_SECONDS: Final = 10.0
PROCESSES_SECONDS: Final = 30.0
PROCESSES_TOLD: Final = 32
"""Of one device at most, those with the most memory first: a frame of 16 GPUs with 7 partitions
each stays below the console's limit of 1 MiB."""

NONE: Final[Mapping[str, Details]] = MappingProxyType({})


class DetailedGpus(DetailsReader, ProcessLister, Protocol):
    """What details are asked of."""


@dataclass(slots=True)
class DetailsLook:
    """Details as last looked at. For one thread, the one that reads."""

    gpus: DetailedGpus
    procfs: Procfs = field(default_factory=Procfs)
    monotonic: Callable[[], float] = time.monotonic
    _details: Mapping[str, Details] = field(default_factory=lambda: NONE, init=False)
    _processes: Mapping[str, tuple[DeviceProcess, ...]] = field(
        default_factory=dict[str, tuple[DeviceProcess, ...]], init=False
    )
    _looked_at: float | None = field(default=None, init=False)
    _listed_at: float | None = field(default=None, init=False)

    def current(self) -> Mapping[str, Details]:
        """Return details by device, the same object until they are looked at again.

        Raises:
            NoDriverError: there is no usable driver now.
            DriverTimeoutError: the driver does not answer.

        """
        now = self.monotonic()
        if self._looked_at is None or now - self._looked_at >= DETAILS_SECONDS:
            self._looked_at = now
            if self._listed_at is None or now - self._listed_at >= PROCESSES_SECONDS:
                self._processes = self._by_device(self.gpus.processes())
                self._listed_at = now
            self._details = MappingProxyType(
                {one.device: self._with_processes(one) for one in self.gpus.details()}
            )
        return self._details

    def forget(self) -> None:
        """Have everything looked at again: what was known is of another driver, or old."""
        self._details = NONE
        self._looked_at = self._listed_at = None

    def _with_processes(self, details: Details) -> Details:
        processes = self._processes.get(details.device)
        if processes is None:
            return details
        return replace(details, process_count=len(processes), processes=processes[:PROCESSES_TOLD])

    def _by_device(self, listed: ProcessesByDevice) -> dict[str, tuple[DeviceProcess, ...]]:
        return {
            device: tuple(
                self._named(one)
                for one in sorted(processes, key=lambda each: (-(each.memory_bytes or 0), each.pid))
            )
            for device, processes in listed.items()
            if processes is not None
        }

    def _named(self, listed: GpuProcess) -> DeviceProcess:
        process = self.procfs.find(listed.pid)
        owner = None if process is None else process.owner
        return DeviceProcess(
            pid=listed.pid,
            memory_used_bytes=listed.memory_bytes,
            pod_uid=None if owner is None else owner.pod_uid,
            container_id=None if owner is None else owner.container_id,
        )
