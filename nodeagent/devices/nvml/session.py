"""One session with the driver: finds its GPUs, keeps their handles, reads and changes them.

The session stays open for the life of the process: without persistence mode each first call
powers a GPU up, and handles die with the session (node-agent.md 6.1). A rescan asks only for what
changes when hardware, MIG mode or partitions do; only a difference costs a full discovery.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import pynvml

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import BusyError, NoDriverError, UnsupportedError
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.mig import MigProfile, device_name
from nodeagent.devices.model import Gpu, MigMode, Reading
from nodeagent.devices.nvml import actions, library
from nodeagent.devices.nvml.calls import (
    Calls,
    GpuLostError,
    Note,
    changing,
    refuse_without_driver,
    required,
)
from nodeagent.devices.nvml.facts import DriverFacts, facts_of, switches_without_reset
from nodeagent.devices.nvml.names import DISPLAY_ONLY, VGPU
from nodeagent.devices.nvml.partitions import (
    Found,
    everywhere,
    existing_only,
    instances_of,
    mig_devices,
    profiles_of,
)
from nodeagent.devices.nvml.readings import gpu_reading, partition_reading
from nodeagent.devices.nvml.vitals import Physician, probe
from nodeagent.devices.nvml.watch import Watch
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.sysfs import driver_of, nvidia_gpus

Outline: TypeAlias = tuple[tuple[str, ...], ...]
FULL_EVERY: Final = 10
"""Rescans until facts that no outline shows (ECC mode, fabric) are asked for again."""

OTHER_DRIVERS: Final = frozenset({"vfio-pci", "nouveau"})


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
    _watch: Watch = field(init=False)
    _physician: Physician = field(init=False)
    _gpus: dict[str, Gpu] = field(default_factory=dict, init=False)
    _handles: dict[str, Any] = field(default_factory=dict, init=False)
    _mig_handles: dict[str, Any] = field(default_factory=dict, init=False)
    _profiles: dict[str, tuple[MigProfile, ...]] = field(default_factory=dict, init=False)
    _outline: Outline | None = field(default=None, init=False)
    _rescans: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._calls = Calls(self.note)
        self._watch = Watch(self.tell, self.note)
        self._physician = Physician(self._calls, self.settings.dev)

    def discover(self) -> tuple[Gpu, ...]:
        """Find all GPUs; one that was lost stays, as it was last known.

        Raises:
            NoDriverError: there is no usable driver, or it has not bound its GPUs yet.
            DriverChangedError: this process has the library of another driver.

        """
        self._open()
        outline = self._look()
        self._rescans += 1
        if outline != self._outline or self._rescans % FULL_EVERY == 0:
            if outline != self._outline:
                self._calls.forget()
            self._discover_fully()
            self._outline = outline
        return tuple(self._gpus.values())

    def read(self) -> tuple[Reading, ...]:
        """Read what the pool offers: whole GPUs, and partitions that exist."""
        if not self._is_open:
            self.discover()
        readings: list[Reading] = []
        for gpu in self._gpus.values():
            handle = self._handles.get(gpu.uuid)
            if handle is None:
                continue
            try:
                readings += self._readings_of(gpu, handle)
            except GpuLostError:
                continue
            self.progress()
        return tuple(readings)

    def vitals(self) -> tuple[Vitals, ...]:
        """Look at the health of every GPU that was ever found."""
        found = []
        for gpu in self._gpus.values():
            found.append(
                self._physician.look_at(
                    gpu.uuid,
                    gpu.minor,
                    self._handles[gpu.uuid],
                    is_monitored=self._watch.monitored.get(gpu.uuid),
                )
            )
            self.progress()
        return tuple(found)

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        gpu, handle = self._find(gpu_uuid)
        profile = next((one for one in self._profiles[gpu.uuid] if one.id == profile_id), None)
        if profile is None or start not in profile.starts:
            raise UnsupportedError(f"{gpu_uuid} has no profile {profile_id} at slice {start}")
        return actions.create_partition(handle, profile, start, note=self.note)

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        _, handle = self._find(gpu_uuid)
        actions.destroy_partition(handle, instance)

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        gpu, handle = self._find(gpu_uuid)
        found = changing("list partitions", lambda: self._instances(gpu, handle))
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
        required(lambda: pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_GPUS))
        self._is_open = True

    def _look(self) -> Outline:
        """Return what shows that something changed, by few and cheap calls."""
        outline = []
        self._mig_handles.clear()
        for uuid, handle in self._reachable():
            modes = self._calls.optional(
                uuid, "mig mode", partial(pynvml.nvmlDeviceGetMigMode, handle)
            )
            there = dict(mig_devices(handle)) if modes and modes[0] else {}
            self._mig_handles.update(there)
            outline.append((uuid, str(modes), *there))
        if not outline:
            self._explain_none()
        return tuple(outline)

    def _reachable(self) -> Iterator[tuple[str, Any]]:
        for index in range(required(pynvml.nvmlDeviceGetCount)):
            try:
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                uuid = pynvml.nvmlDeviceGetUUID(handle)
            except pynvml.NVMLError as error:
                refuse_without_driver(error)
                self.note("warning", "gpu not reachable", nvml_index=index, reason=str(error))
            else:
                yield uuid, handle
            self.progress()

    def _explain_none(self) -> None:
        waiting = [
            address
            for address in nvidia_gpus(self.settings.sysfs)
            if driver_of(self.settings.sysfs, address) not in OTHER_DRIVERS
        ]
        if waiting and not self._lost():
            raise NoDriverError(
                f"the driver has none of the GPUs at {', '.join(waiting)}: is it being installed?"
            )

    def _discover_fully(self) -> None:
        driver = DriverFacts.ask(self._calls)
        found: dict[str, Gpu] = {}
        handles: dict[str, Any] = {}
        for uuid, handle in self._reachable():
            try:
                gpu = facts_of(handle, calls=self._calls, driver=driver, sysfs=self.settings.sysfs)
                if any(part in (gpu.product_name or "") for part in DISPLAY_ONLY):
                    continue
                found[uuid] = self._with_partitions(gpu, handle)
                handles[uuid] = handle
            except (pynvml.NVMLError, GpuLostError) as error:
                if isinstance(error, pynvml.NVMLError):
                    refuse_without_driver(error)
                self.note("warning", "gpu left out", gpu=uuid, reason=str(error))
            self.progress()
        for uuid in self._lost() - found.keys():
            # Claims may have it; its health says that it is gone.
            found[uuid], handles[uuid] = self._gpus[uuid], self._handles[uuid]
        self._compare_with_pci_tree(found)
        is_new = handles.keys() != self._handles.keys()
        self._gpus, self._handles = found, handles
        if is_new:
            self._watch.over(handles)

    def _compare_with_pci_tree(self, found: dict[str, Gpu]) -> None:
        sysfs = self.settings.sysfs
        there = {a for a in nvidia_gpus(sysfs) if driver_of(sysfs, a) not in OTHER_DRIVERS}
        missing = there - {gpu.pci_bus_id for gpu in found.values()}
        if missing:
            self.note("warning", "gpus in the pci tree unknown to nvml", gpus=sorted(missing))

    def _lost(self) -> set[str]:
        return {
            uuid
            for uuid, handle in self._handles.items()
            if probe(handle) == pynvml.NVML_ERROR_GPU_IS_LOST
        }

    def _with_partitions(self, gpu: Gpu, handle: object) -> Gpu:
        profiles = () if gpu.mig_mode is MigMode.UNSUPPORTED else self._profiles_of(gpu, handle)
        self._profiles[gpu.uuid] = profiles
        is_on = gpu.mig_mode is MigMode.ENABLED
        existing = self._instances(gpu, handle) if is_on else ()
        toggles = switches_without_reset(gpu)
        is_dynamic = (
            self.settings.mig is MigPolicy.DYNAMIC
            and bool(profiles)
            and (is_on or toggles)
            and gpu.virtualization != VGPU
        )
        if is_dynamic:
            return replace(
                gpu,
                is_dynamic=True,
                toggles_mig=toggles,
                partitions=everywhere(profiles, existing),
            )
        offered = existing_only(profiles, existing)
        if is_on and len(offered) < len(existing):
            self.note("warning", "divided gpu instances not offered", gpu=gpu.uuid)
        if is_on and not offered:
            self.note("warning", "mig mode without partitions: nothing to offer", gpu=gpu.uuid)
        return replace(gpu, partitions=offered)

    def _profiles_of(self, gpu: Gpu, handle: object) -> tuple[MigProfile, ...]:
        return self._profiles.get(gpu.uuid) or profiles_of(gpu, handle, calls=self._calls)

    def _instances(self, gpu: Gpu, handle: object) -> tuple[Found, ...]:
        return instances_of(gpu, handle, self._profiles[gpu.uuid], calls=self._calls)

    def _find(self, gpu_uuid: str) -> tuple[Gpu, Any]:
        if gpu_uuid not in self._gpus:
            self.discover()
        try:
            return self._gpus[gpu_uuid], self._handles[gpu_uuid]
        except KeyError:
            raise NoDriverError(f"no GPU {gpu_uuid} on this node") from None

    def _readings_of(self, gpu: Gpu, handle: object) -> Iterator[Reading]:
        if gpu.is_offered_whole:
            yield gpu_reading(gpu.name, gpu.uuid, handle, calls=self._calls)
        for partition in gpu.partitions:
            its_handle = self._mig_handles.get(partition.uuid or "")
            if its_handle is not None and partition.uuid is not None:
                name = device_name(gpu.minor, partition)
                yield partition_reading(name, partition.uuid, its_handle, calls=self._calls)
