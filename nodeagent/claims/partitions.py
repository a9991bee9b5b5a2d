"""Partitions that are made for one claim and go with it (dynamic MIG).

Only what a claim's plan names is ever destroyed: its GPU, its profile and its place, and only
after that place was seen free before the plan was written. Partitions of other people and of
static MIG stay (node-agent.md 2.7).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import structlog

from nodeagent.claims.entry import Entry, PlannedDevice
from nodeagent.claims.errors import DeviceLostError
from nodeagent.devices.control import GpuControl, Instance
from nodeagent.devices.errors import PlacementTakenError, UnsupportedError

log = structlog.get_logger()


def looked_up(planned: Iterable[PlannedDevice], control: GpuControl) -> tuple[PlannedDevice, ...]:
    """Check the places of a plan against the driver, before anything is written or changed.

    Raises:
        PlacementTakenError: an instance lies where one is to be made; no claim made it.
        DeviceLostError: an administrator's claim asks for a partition that does not exist.
        DevicesError: the driver could not be asked.

    """
    return tuple(_looked_up(device, control) for device in planned)


def make(entry: Entry, control: GpuControl, *, record: Callable[[Entry], None]) -> Entry:
    """Make the entry's partitions one by one; `record` writes down each before the next.

    Raises:
        DevicesError: one could not be made; those before it stand in what was recorded.

    """
    for gpu_uuid, mode in _modes(entry.devices):
        control.set_mig_mode(gpu_uuid, mode)
    for index, device in enumerate(entry.devices):
        if not device.makes_partition:
            continue
        instance = control.create_partition(*_place(device))
        devices = (*entry.devices[:index], device.on(instance), *entry.devices[index + 1 :])
        entry = replace(entry, devices=devices)
        record(entry)
    return entry


def unmake(entry: Entry, control: GpuControl, *, is_gone: Callable[[str], bool]) -> None:
    """Destroy the entry's partitions, the last one first; what is gone already is fine.

    `is_gone` tells of a GPU that it has left the node.

    Raises:
        DevicesError: one is in use, or the driver could not be asked; asking again goes on.

    """
    for device in reversed(entry.devices):
        gpu_uuid = device.parent_uuid
        if not device.makes_partition or gpu_uuid is None or is_gone(gpu_uuid):
            continue
        try:
            for instance in control.instances(gpu_uuid):
                if device.lies_at(instance):
                    control.destroy_partition(gpu_uuid, instance)
        except UnsupportedError as error:
            # The GPU has left MIG mode, and its partitions with it.
            log.info("partition gone already", device=device.device, reason=str(error))


def insist_on(entry: Entry, instances: Callable[[str], tuple[Instance, ...]]) -> None:
    """Insist that every partition of a completed claim is the one that was prepared.

    Raises:
        DeviceLostError: one is not.
        DevicesError: the driver could not be asked.

    """
    for device in entry.devices:
        if device.gpu_instance_id is None or device.parent_uuid is None or device.uuid is None:
            continue
        if all(instance.uuid != device.uuid for instance in instances(device.parent_uuid)):
            raise DeviceLostError(
                f"device {device.device} ({device.uuid}) is gone from this node: delete the pod"
            )


def _looked_up(device: PlannedDevice, control: GpuControl) -> PlannedDevice:
    if device.mig_profile_id is None or device.parent_uuid is None:
        return device
    if not device.makes_partition and device.uuid is not None:
        return device
    found = next((one for one in _instances(device, control) if device.lies_at(one)), None)
    if device.makes_partition:
        if found is not None:
            raise PlacementTakenError(
                f"device {device.device}: partition {found.uuid} lies there already, and no claim"
                " that is prepared here made it"
            )
        return device
    if found is None:
        raise DeviceLostError(
            f"device {device.device} does not exist now, and access for administrators makes"
            " no partition"
        )
    return device.on(found)


def _instances(device: PlannedDevice, control: GpuControl) -> tuple[Instance, ...]:
    try:
        return control.instances(device.parent_uuid or "")
    except UnsupportedError:
        return ()


def _modes(devices: Iterable[PlannedDevice]) -> Iterator[tuple[str, bool]]:
    modes = {
        device.parent_uuid: device.mig_mode
        for device in devices
        if device.parent_uuid is not None and device.mig_mode is not None
    }
    yield from modes.items()


def _place(device: PlannedDevice) -> tuple[str, int, int]:
    if device.parent_uuid is None or device.mig_profile_id is None or device.mig_start is None:
        raise ValueError(f"{device.device}: a partition without a place was planned")
    return device.parent_uuid, device.mig_profile_id, device.mig_start
