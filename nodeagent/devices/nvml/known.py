"""The GPUs that the driver shows, with their handles, found anew only when something changed.

A rescan asks only for what changes when hardware, MIG mode or partitions do; a difference, and
now and then none, costs a full discovery (node-agent.md 5.6).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import pynvml

from nodeagent.devices.errors import NoDriverError
from nodeagent.devices.mig import MigProfile
from nodeagent.devices.model import Gpu, MigMode
from nodeagent.devices.nvml.calls import (
    Calls,
    GpuLostError,
    Note,
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
from nodeagent.devices.nvml.vitals import probe
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.sysfs import driver_of, nvidia_gpus

Outline: TypeAlias = tuple[tuple[str, ...], ...]
FULL_EVERY: Final = 10
"""Rescans until facts that no outline shows (ECC mode, fabric) are asked for again."""

OTHER_DRIVERS: Final = frozenset({"vfio-pci", "nouveau"})


@dataclass(slots=True)
class KnownGpus:
    """What was found last; it lives as long as one session with the driver."""

    settings: Settings
    calls: Calls
    note: Note
    progress: Callable[[], None]
    gpus: dict[str, Gpu] = field(default_factory=dict)
    """By UUID; one that is lost or does not answer stays, as it was last known."""

    handles: dict[str, Any] = field(default_factory=dict)
    """NVML's handles by UUID, of partitions that exist, too."""

    profiles: dict[str, tuple[MigProfile, ...]] = field(default_factory=dict)
    _answering: dict[str, Any] = field(default_factory=dict, init=False)
    """Handles of whole GPUs at the last look."""

    _silent: set[str] = field(default_factory=set, init=False)
    """Known GPUs that did not answer at the last look."""

    _outline: Outline | None = field(default=None, init=False)
    _rescans: int = field(default=0, init=False)

    def rescan(self) -> None:
        """Find what there is now.

        Raises:
            NoDriverError: the driver has not bound its GPUs yet.
            DriverChangedError: this process has the library of another driver.

        """
        outline = self._look()
        self._rescans += 1
        if outline != self._outline or self._rescans % FULL_EVERY == 0:
            if outline != self._outline:
                self.calls.forget()
            is_complete = self._discover()
            self._outline = outline if is_complete else None

    def handles_of_gpus(self) -> dict[str, Any]:
        """Return the handles of whole GPUs alone."""
        return {uuid: self.handles[uuid] for uuid in self.gpus}

    def instances(self, gpu: Gpu) -> tuple[Found, ...]:
        """List the partitions of a GPU that exist now.

        Raises:
            pynvml.NVMLError: they cannot be listed.

        """
        profiles = self.profiles.get(gpu.uuid, ())
        return instances_of(gpu, self.handles[gpu.uuid], profiles, calls=self.calls)

    def _look(self) -> Outline:
        """Return what shows that something changed, by few and cheap calls."""
        outline: list[tuple[str, ...]] = []
        self._answering, has_silent_index = self._reachable()
        self._silent = {
            uuid
            for uuid in self.gpus.keys() - self._answering.keys()
            if self._is_silent(uuid, has_silent_index=has_silent_index)
        }
        seen = dict(self._answering)
        for uuid in self._silent:
            seen |= self._known_handles(uuid)
        for uuid, handle in self._answering.items():
            try:
                modes, there = self._mig_of(uuid, handle)
            except (pynvml.NVMLError, GpuLostError) as error:
                self.note("warning", "mig devices not listed", gpu=uuid, reason=str(error))
                outline.append((uuid, "not listed"))
                seen = self._known_handles(uuid) | seen
            else:
                seen |= there
                outline.append((uuid, str(modes), *there))
        if not outline and not self._silent:
            self._explain_none()
        self.handles = seen
        return tuple(outline)

    def _mig_of(self, uuid: str, handle: object) -> tuple[list[int] | None, dict[str, Any]]:
        modes = self.calls.offered(uuid, "mig mode", partial(pynvml.nvmlDeviceGetMigMode, handle))
        is_on = modes is not None and modes[0]
        return modes, mig_devices(uuid, handle, calls=self.calls) if is_on else {}

    def _is_silent(self, uuid: str, *, has_silent_index: bool) -> bool:
        """Tell whether a known GPU that was not seen may still be there."""
        code = probe(self.handles[uuid])
        if has_silent_index:
            return bool(code != pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return bool(code == pynvml.NVML_ERROR_GPU_IS_LOST)

    def _known_handles(self, uuid: str) -> dict[str, Any]:
        """Return the handles of a GPU and its partitions, as last known."""
        partitions = self.gpus[uuid].partitions if uuid in self.gpus else ()
        known = (uuid, *(partition.uuid for partition in partitions))
        return {each: self.handles[each] for each in known if each in self.handles}

    def _reachable(self) -> tuple[dict[str, Any], bool]:
        """Return the handles of GPUs by UUID, and whether some GPU did not answer for itself."""
        found = {}
        has_silent = False
        for index in range(required(pynvml.nvmlDeviceGetCount)):
            try:
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                uuid = pynvml.nvmlDeviceGetUUID(handle)
            except pynvml.NVMLError as error:
                refuse_without_driver(error)
                self.note("warning", "gpu not reachable", nvml_index=index, reason=str(error))
                has_silent = True
            else:
                found[uuid] = handle
            self.progress()
        return found, has_silent

    def _explain_none(self) -> None:
        waiting = [
            address
            for address in nvidia_gpus(self.settings.sysfs)
            if driver_of(self.settings.sysfs, address) not in OTHER_DRIVERS
        ]
        if waiting:
            raise NoDriverError(
                f"the driver has none of the GPUs at {', '.join(waiting)}: is it being installed?"
            )

    def _discover(self) -> bool:
        """Describe every GPU; tell whether all could be.

        One that cannot be stays as it was last known: claims may have it, and its health says
        what is wrong.
        """
        driver = DriverFacts.ask(self.calls)
        found: dict[str, Gpu] = {}
        failed: set[str] = set()
        addresses: set[str | None] = set()
        for uuid, handle in self._answering.items():
            try:
                gpu = facts_of(handle, calls=self.calls, driver=driver, sysfs=self.settings.sysfs)
                addresses.add(gpu.pci_bus_id)
                if not any(part in (gpu.product_name or "") for part in DISPLAY_ONLY):
                    found[uuid] = self._with_partitions(gpu, handle)
            except pynvml.NVMLError as error:
                refuse_without_driver(error)
                failed.add(uuid)
                self.note("warning", "gpu not described", gpu=uuid, reason=str(error))
            except GpuLostError:
                failed.add(uuid)
            self.progress()
        known = self.gpus.keys() & (self._silent | failed)
        self.gpus = found | {uuid: self.gpus[uuid] for uuid in sorted(known)}
        self._compare_with_pci_tree(addresses)
        return not failed

    def _compare_with_pci_tree(self, found: set[str | None]) -> None:
        sysfs = self.settings.sysfs
        there = {a for a in nvidia_gpus(sysfs) if driver_of(sysfs, a) not in OTHER_DRIVERS}
        missing = there - found
        if missing:
            self.note("warning", "gpus in the pci tree unknown to nvml", gpus=sorted(missing))

    def _with_partitions(self, gpu: Gpu, handle: object) -> Gpu:
        if gpu.mig_mode is MigMode.UNSUPPORTED:
            return gpu
        if not self.profiles.get(gpu.uuid):
            self.profiles[gpu.uuid] = profiles_of(gpu, handle, calls=self.calls)
        profiles = self.profiles[gpu.uuid]
        is_on = gpu.mig_mode is MigMode.ENABLED
        existing = instances_of(gpu, handle, profiles, calls=self.calls) if is_on else ()
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
