"""What preparing a claim does to the hardware, in order, and how each step is taken back.

Partitions first, then the GPU's time slice, then MPS, which needs both the devices and the
compute mode; taken back the other way round. Every step can be repeated, and taking back finds
what to do in the plan alone, so a process may die between any two of them. Access for
administrators changes nothing (node-agent.md 2.3 h, 2.5).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import structlog

from nodeagent.cdi.spec import ContainerEdits
from nodeagent.claims import partitions
from nodeagent.claims.entry import Entry, PlannedDevice
from nodeagent.claims.mps import MpsDaemons, mps_id_of
from nodeagent.claims.sharing import Interval, Mps, TimeSlicing
from nodeagent.devices.control import GpuControl
from nodeagent.devices.errors import NoDriverError, UnsupportedError
from nodeagent.devices.model import Inventory

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """How claims change this node's hardware. Call it under the node's lock."""

    control: GpuControl
    mps: MpsDaemons

    def apply(self, entry: Entry, *, record: Callable[[Entry], None]) -> Entry:
        """Do what the entry plans and return it with the identities that came of it.

        `record` writes the entry down after each step that adds to it.

        Raises:
            DevicesError, MpsError, OSError: a step failed; the caller takes back all.

        """
        entry = partitions.make(entry, self.control, record=record)
        for gpu_uuid, interval in _intervals(entry).items():
            self.control.set_time_slice(gpu_uuid, interval.level)
        for gpu_uuid in _exclusive_gpus(entry):
            self.control.set_compute_mode(gpu_uuid, True)
        self._start_mps(entry)
        return entry

    def undo(self, entry: Entry, *, others: Iterable[Entry], inventory: Inventory | None) -> None:
        """Take back whatever was done for the entry; nothing having been done is fine.

        Raises:
            DevicesError, OSError: a step cannot be taken back now; asking again goes on.

        """
        used = _used_by([other for other in others if other.uid != entry.uid])
        self.end_mps(entry.uid)
        for gpu_uuid in _exclusive_gpus(entry) - used:
            self._leniently(gpu_uuid, lambda uuid: self.control.set_compute_mode(uuid, False))
        for gpu_uuid in _intervals(entry).keys() - used:
            self._leniently(
                gpu_uuid, lambda uuid: self.control.set_time_slice(uuid, Interval.DEFAULT.level)
            )
        partitions.unmake(entry, self.control, is_gone=lambda uuid: _is_gone(uuid, inventory))

    def insist_on(self, entry: Entry) -> None:
        """Insist that what was done for a completed claim is still in force.

        A partition cannot come back with its processes, an MPS daemon can be started again.

        Raises:
            DeviceLostError: a partition is gone.
            DevicesError, MpsError, OSError: that could not be found out or done now.

        """
        partitions.insist_on(entry, cache(self.control.instances))
        self._start_mps(entry)

    def end_mps(self, claim_uid: str) -> None:
        """End a claim's MPS daemons, whatever devices they were for."""
        for mps_id in self.mps.ids_of(claim_uid):
            self.mps.stop(mps_id)

    def edits_for(
        self, claim_uid: str, devices: Iterable[PlannedDevice]
    ) -> Mapping[str, ContainerEdits]:
        """Return what containers need beside the devices themselves, by CDI name."""
        devices = tuple(devices)
        group = _mps_group(devices)
        edits = {device.cdi_name: _granted(device) for device in devices}
        for device in group:
            mps_id = mps_id_of(claim_uid, _uuids(group))
            edits[device.cdi_name] = edits[device.cdi_name].merged(self.mps.edits(mps_id))
        return edits

    def _start_mps(self, entry: Entry) -> None:
        group = _mps_group(entry.devices)
        if group and isinstance(group[0].sharing, Mps):
            uuids = _uuids(group)
            self.mps.start(mps_id_of(entry.uid, uuids), uuids, group[0].sharing)

    def _leniently(self, gpu_uuid: str, reset: Callable[[str], None]) -> None:
        try:
            reset(gpu_uuid)
        except (NoDriverError, UnsupportedError) as error:
            # Without the driver or the GPU, its setting is gone as well.
            log.info("setting gone already", gpu=gpu_uuid, reason=str(error))


def heirs_of(entry: Entry, others: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return, as they are from then on, the claims that reset a time slice after `entry` is gone.

    A time slice stays while anybody uses the GPU, and is reset by the last one, who may never
    have asked for any: so one of them takes it over.
    """
    left = {other.uid: other for other in others if other.uid != entry.uid}
    heirs: dict[str, Entry] = {}
    for gpu_uuid, interval in _intervals(entry).items():
        users = [other for other in left.values() if gpu_uuid in _used_by([other])]
        if users and not any(gpu_uuid in _intervals(user) for user in users):
            heir = _with_interval(users[0], gpu_uuid, interval)
            left[heir.uid] = heirs[heir.uid] = heir
    return tuple(heirs.values())


def _with_interval(entry: Entry, gpu_uuid: str, interval: Interval) -> Entry:
    devices = tuple(
        replace(device, sharing=TimeSlicing(interval))
        if device.parent_uuid == gpu_uuid and not device.admin_access
        else device
        for device in entry.devices
    )
    return replace(entry, devices=devices)


def _mps_group(devices: Iterable[PlannedDevice]) -> tuple[PlannedDevice, ...]:
    """Return the devices that share one daemon; a claim has at most one such group."""
    return tuple(device for device in devices if isinstance(device.sharing, Mps))


def _uuids(devices: Iterable[PlannedDevice]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(device.uuid for device in devices if device.uuid is not None))


def _intervals(entry: Entry) -> dict[str, Interval]:
    return {
        device.parent_uuid: device.sharing.interval
        for device in entry.devices
        if isinstance(device.sharing, TimeSlicing) and device.is_whole and device.parent_uuid
    }


def _exclusive_gpus(entry: Entry) -> set[str]:
    group = _mps_group(entry.devices)
    return {device.parent_uuid for device in group if device.is_whole and device.parent_uuid}


def _used_by(entries: Iterable[Entry]) -> set[str]:
    return {
        device.parent_uuid
        for entry in entries
        if entry.holds_devices
        for device in entry.devices
        if device.parent_uuid is not None and not device.admin_access
    }


def _is_gone(gpu_uuid: str, inventory: Inventory | None) -> bool:
    """Tell whether the node is known and has no such GPU; without a driver nothing is known."""
    if inventory is None or not inventory.devices:
        return False
    return all(device.gpu.uuid != gpu_uuid for device in inventory.devices)


def _granted(device: PlannedDevice) -> ContainerEdits:
    """Tell a container how much of a shared device is its; nothing enforces it."""
    variable = device.device.upper().replace("-", "_")
    return ContainerEdits(env=tuple(_amounts(variable, device.consumed)))


def _amounts(variable: str, consumed: Mapping[str, str]) -> Iterator[str]:
    for name, amount in consumed.items():
        capacity = name.rpartition("/")[2].upper()
        yield f"DRA_SHARE_{variable}_{capacity}={amount}"
