"""One session with the driver: finds its GPUs, keeps their handles, reads and changes them.

The session stays open for the life of the process: without persistence mode each first call
powers a GPU up, and handles die with the session (node-agent.md 6.1).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import pynvml

from nodeagent.devices.control import Instance
from nodeagent.devices.details import Details
from nodeagent.devices.errors import BusyError, NoDriverError, UnsupportedError
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.gpu_process import GpuProcess, ProcessesByDevice
from nodeagent.devices.mig import device_name
from nodeagent.devices.model import Gpu, Reading
from nodeagent.devices.nvml import actions, library
from nodeagent.devices.nvml.calls import (
    Calls,
    GpuLostError,
    Note,
    changing,
    required,
)
from nodeagent.devices.nvml.details import gpu_details, partition_details
from nodeagent.devices.nvml.facts import switches_without_reset
from nodeagent.devices.nvml.known import KnownGpus
from nodeagent.devices.nvml.readings import gpu_reading, partition_reading, processes_on
from nodeagent.devices.nvml.vitals import Physician
from nodeagent.devices.nvml.watch import Watch
from nodeagent.devices.settings import Settings

Found = TypeVar("Found")

UNKNOWN_AT_START: Final = "may this process open /dev/nvidiactl? A container must be privileged"


@dataclass(frozen=True, slots=True)
class _Part:
    """A whole GPU or a partition, by the name that the pool has for it."""

    name: str
    uuid: str
    handle: object
    is_whole: bool


@dataclass(slots=True)
class NvmlSession:
    """The GPUs of this machine, from one thread; events come on another."""

    settings: Settings
    note: Note
    tell: Callable[[DriverEvent], None]
    progress: Callable[[], None] = lambda: None
    """Called between long steps: the driver is slow, not dead."""

    _is_open: bool = field(default=False, init=False)
    _calls: Calls = field(init=False)
    _known: KnownGpus = field(init=False)
    _watch: Watch = field(init=False)
    _has_changed: bool = field(default=False, init=False)
    _watched: frozenset[str] = field(default=frozenset(), init=False)
    _physician: Physician = field(init=False)

    def __post_init__(self) -> None:
        self._calls = Calls(self.note)
        self._known = KnownGpus(self.settings, self._calls, self.note, self.progress)
        self._watch = Watch(self.tell, self.note)
        self._physician = Physician(self._calls, self.settings.dev)

    def discover(self) -> tuple[Gpu, ...]:
        """Find all GPUs; one that was lost stays, as it was last known.

        Raises:
            NoDriverError: there is no usable driver, or it has not bound its GPUs yet.
            DriverChangedError: this process has the library of another driver.

        """
        self._open()
        self._known.rescan()
        self._has_changed = False
        if not self.settings.only_reads and self._known.gpus.keys() != self._watched:
            self._watch.over(self._known.handles_of_gpus())
            self._watched = frozenset(self._known.gpus)
        return tuple(self._known.gpus.values())

    def read(self) -> tuple[Reading, ...]:
        """Read what the pool offers: whole GPUs, and partitions that exist."""
        if not self._is_open or self._has_changed:
            # Partitions that were just made have no handles yet.
            self.discover()
        return self._from_each(self._readings_of)

    def details(self) -> tuple[Details, ...]:
        """Read what `read` leaves out."""
        if not self._is_open or self._has_changed:
            self.discover()
        return self._from_each(self._details_of)

    def processes(self) -> ProcessesByDevice:
        """List the processes of every device that `read` reads."""
        if not self._is_open or self._has_changed:
            self.discover()
        return dict(self._from_each(self._processes_of))

    def vitals(self) -> tuple[Vitals, ...]:
        """Look at the health of every GPU that was ever found."""
        found = []
        for gpu in self._known.gpus.values():
            found.append(
                self._physician.look_at(
                    gpu.uuid,
                    gpu.minor,
                    self._known.handles[gpu.uuid],
                    is_monitored=self._watch.monitored.get(gpu.uuid),
                )
            )
            self.progress()
        return tuple(found)

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        gpu, handle = self._find(gpu_uuid)
        profile = next(
            (one for one in self._known.profiles.get(gpu.uuid, ()) if one.id == profile_id), None
        )
        if profile is None or start not in profile.starts:
            raise UnsupportedError(f"{gpu_uuid} has no profile {profile_id} at slice {start}")
        self._has_changed = True
        return actions.create_partition(handle, profile, start, note=self.note)

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        _, handle = self._find(gpu_uuid)
        self._has_changed = True
        actions.destroy_partition(handle, instance)

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        gpu, _ = self._find(gpu_uuid)
        found = changing("list partitions", lambda: self._known.instances(gpu))
        return tuple(one.instance for one in found)

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: FBT001 - as in GpuControl
        gpu, handle = self._find(gpu_uuid)

        def switch() -> None:
            actions.set_mig_mode(
                handle, enabled=enabled, switches_without_reset=switches_without_reset(gpu)
            )

        try:
            switch()
        except BusyError:
            # It may be our own event set that holds the GPU open.
            with self._watch.paused():
                switch()
        self._calls.forget()
        self._has_changed = True

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: FBT001 - as in GpuControl
        _, handle = self._find(gpu_uuid)
        actions.set_compute_mode(handle, exclusive=exclusive)

    def close(self) -> None:
        """Let the driver go."""
        self._watch.stop()
        if self._is_open:
            self._is_open = False
            try:
                pynvml.nvmlShutdown()
            except pynvml.NVMLError as error:
                self.note("info", "driver did not let go", reason=str(error))

    def _open(self) -> None:
        if self._is_open:
            return
        library.load(self.settings.driver_root, sysfs=self.settings.sysfs)
        # A node whose GPUs are all bound to vfio-pci has a driver and no GPU: no error.
        try:
            required(lambda: pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_GPUS))
        except NoDriverError as error:
            if isinstance(error.__cause__, pynvml.NVMLError_Unknown):
                raise NoDriverError(f"{error}: {UNKNOWN_AT_START}") from error
            raise
        self._is_open = True

    def _find(self, gpu_uuid: str) -> tuple[Gpu, Any]:
        if gpu_uuid not in self._known.gpus:
            self.discover()
        try:
            return self._known.gpus[gpu_uuid], self._known.handles[gpu_uuid]
        except KeyError:
            raise NoDriverError(f"no GPU {gpu_uuid} on this node") from None

    def _from_each(self, ask: Callable[[Gpu, object], Iterator[Found]]) -> tuple[Found, ...]:
        """Ask every GPU that is not lost."""
        found: list[Found] = []
        for gpu in self._known.gpus.values():
            handle = self._known.handles.get(gpu.uuid)
            if handle is None:
                continue
            try:
                found += ask(gpu, handle)
            except GpuLostError:
                continue
            self.progress()
        return tuple(found)

    def _processes_of(
        self, gpu: Gpu, handle: object
    ) -> Iterator[tuple[str, tuple[GpuProcess, ...] | None]]:
        for part in self._parts_of(gpu, handle):
            listed = processes_on(part.name, part.uuid, part.handle, calls=self._calls)
            yield part.name, listed

    def _readings_of(self, gpu: Gpu, handle: object) -> Iterator[Reading]:
        for part in self._parts_of(gpu, handle):
            read = gpu_reading if part.is_whole else partition_reading
            yield read(part.name, part.uuid, part.handle, calls=self._calls)

    def _details_of(self, gpu: Gpu, handle: object) -> Iterator[Details]:
        for part in self._parts_of(gpu, handle):
            read = gpu_details if part.is_whole else partition_details
            yield read(part.name, part.uuid, part.handle, calls=self._calls)

    def _parts_of(self, gpu: Gpu, handle: object) -> Iterator[_Part]:
        """Yield what of a GPU the pool offers: itself, and its partitions that exist."""
        if gpu.is_offered_whole:
            yield _Part(gpu.name, gpu.uuid, handle, is_whole=True)
        for partition in gpu.partitions:
            its_handle = self._known.handles.get(partition.uuid or "")
            if its_handle is not None and partition.uuid is not None:
                name = device_name(gpu.minor, partition)
                yield _Part(name, partition.uuid, its_handle, is_whole=False)
