"""Snapshots with a taint more or less on some devices, and which devices those are.

A taint on a driver, a pool or a device is put there as a cluster would do it, by a
DeviceTaintRule: slices stay as they are, and with them all that is known of them. No rule selects
by node, so taints on a node's devices are written into its slices.
"""

from dataclasses import replace

from dra_console.allocator.inventory import Device, DeviceId, DeviceTaintRule, Taint
from dra_console.allocator.model import Snapshot
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.scheduling.whatif.edits import DeviceSelection, UntaintDevices
from dra_console.scheduling.whatif.selecting import over_selected, selected, spared


def with_taint(
    snapshot: Snapshot, taint: Taint, devices: DeviceSelection
) -> tuple[Snapshot, set[DeviceId]]:
    """Taint devices."""
    return (
        _in_slices(snapshot, taint, devices) if devices.node else _by_rule(snapshot, taint, devices)
    )


def _in_slices(
    snapshot: Snapshot, taint: Taint, devices: DeviceSelection
) -> tuple[Snapshot, set[DeviceId]]:
    tainted: set[DeviceId] = set()

    def put(device: Device, device_id: DeviceId) -> Device:
        tainted.add(device_id)
        return replace(device, taints=(*device.taints, taint))

    slices = tuple(over_selected(snapshot.slices, devices, put))
    return replace(snapshot, slices=slices), tainted


def _by_rule(
    snapshot: Snapshot, taint: Taint, devices: DeviceSelection
) -> tuple[Snapshot, set[DeviceId]]:
    rule = DeviceTaintRule(
        f"what-if-{len(snapshot.taint_rules)}",
        taint,
        devices.driver or None,
        devices.pool or None,
        devices.device or None,
    )
    tainted = {*selected(snapshot.slices, devices)}
    return replace(snapshot, taint_rules=(*snapshot.taint_rules, rule)), tainted


def without_taint(snapshot: Snapshot, edit: UntaintDevices) -> tuple[Snapshot, set[DeviceId]]:
    """Take taints of a key off; rules end, and taint the devices that are not meant themselves."""

    def is_meant(taint: Taint) -> bool:
        return taint.key == edit.key and edit.effect in {"", taint.effect}

    rules = [rule for rule in snapshot.taint_rules if is_meant(rule.taint)]
    added = AddedTaints(rules)
    untainted: set[DeviceId] = set()

    def clean(device: Device, device_id: DeviceId) -> Device:
        left = tuple(taint for taint in device.taints if not is_meant(taint))
        if len(left) < len(device.taints) or added.on(device_id):
            untainted.add(device_id)
        return replace(device, taints=left) if len(left) < len(device.taints) else device

    slices = tuple(over_selected(snapshot.slices, edit.devices, clean))
    if untainted and rules and not edit.devices.is_empty:
        slices = tuple(spared(slices, rules, edit.devices))
    ended = {id(rule) for rule in rules}
    left = tuple(rule for rule in snapshot.taint_rules if id(rule) not in ended)
    return (
        replace(snapshot, slices=slices, taint_rules=left if rules else snapshot.taint_rules),
        untainted,
    )
