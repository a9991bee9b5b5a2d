"""Change the devices of some slices; slices that nothing is changed about stay the very same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from dra_console.allocator.inventory import (
    Device,
    DeviceId,
    DeviceTaintRule,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.world.taints import taints_from
from dra_console.scheduling.whatif.edits import DeviceSelection

Change = Callable[[Device, DeviceId], Device]


def is_selected(selection: DeviceSelection, device: Device, slice_: ResourceSlice) -> bool:
    """Tell whether a device is meant; a device that several nodes reach is no node's."""
    return (
        _may_hold(selection, slice_)
        and selection.device in {"", device.name}
        and selection.node in {"", _node_of(device, slice_)}
    )


def selected(slices: Iterable[ResourceSlice], selection: DeviceSelection) -> Iterator[DeviceId]:
    """Name the devices that are meant."""
    for slice_ in slices:
        if _may_hold(selection, slice_):
            for device in slice_.devices:
                if is_selected(selection, device, slice_):
                    yield DeviceId(slice_.driver, slice_.pool, device.name)


def over_selected(
    slices: Iterable[ResourceSlice], selection: DeviceSelection, change: Change
) -> Iterator[ResourceSlice]:
    """Change the devices that are meant."""
    for slice_ in slices:
        if not _may_hold(selection, slice_):
            yield slice_
            continue
        devices = [
            change(device, DeviceId(slice_.driver, slice_.pool, device.name))
            if is_selected(selection, device, slice_)
            else device
            for device in slice_.devices
        ]
        yield _with(slice_, devices)


def spared(
    slices: Iterable[ResourceSlice],
    rules: Sequence[DeviceTaintRule],
    selection: DeviceSelection,
) -> Iterator[ResourceSlice]:
    """Write the taints of rules that end on the devices which are not meant."""
    for slice_ in slices if rules else ():
        devices = []
        for device in slice_.devices:
            taints: tuple[Taint, ...] = ()
            if not is_selected(selection, device, slice_):
                device_id = DeviceId(slice_.driver, slice_.pool, device.name)
                taints = taints_from(rules, device_id=device_id)
            devices.append(replace(device, taints=(*device.taints, *taints)) if taints else device)
        yield _with(slice_, devices)
    if not rules:
        yield from slices


def _with(slice_: ResourceSlice, devices: Sequence[Device]) -> ResourceSlice:
    if all(new is old for new, old in zip(devices, slice_.devices, strict=True)):
        return slice_
    return replace(slice_, devices=tuple(devices))


def _may_hold(selection: DeviceSelection, slice_: ResourceSlice) -> bool:
    return selection.driver in {"", slice_.driver} and selection.pool in {"", slice_.pool}


def _node_of(device: Device, slice_: ResourceSlice) -> str:
    if slice_.per_device_node_selection and device.reach is not None:
        return device.reach.node_name or ""
    return slice_.reach.node_name or ""
