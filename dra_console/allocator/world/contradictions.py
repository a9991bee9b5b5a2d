"""What makes a pool invalid: slices of one generation that contradict each other."""

from collections.abc import Sequence

from dra_console.allocator.rules import Feature
from dra_console.allocator.world.published import PublishedSlice


def duplicate_device(slices: Sequence[PublishedSlice]) -> str:
    """Name a device that stands in the slices twice; empty if none does."""
    names: set[str] = set()
    for device in (device for each in slices if each.has_devices for device in each.slice.devices):
        if device.name in names:
            return f"duplicate device {device.name}"
        names.add(device.name)
    return ""


def counter_contradiction(slices: Sequence[PublishedSlice]) -> str:
    """Name a counter set that is there twice, or a draw on what is not there; empty if none is."""
    if slices and Feature.PARTITIONABLE_DEVICES not in slices[0].rules.features:
        return ""
    counter_sets: dict[str, frozenset[str]] = {}
    for counter_set in (shared for each in slices for shared in each.slice.shared_counters):
        if counter_set.name in counter_sets:
            return f"duplicate counter set {counter_set.name}"
        counter_sets[counter_set.name] = frozenset(counter_set.counters)
    for device in (device for each in slices if each.has_devices for device in each.slice.devices):
        for counter_set in device.consumes_counters:
            if counter_set.name not in counter_sets:
                return f"device {device.name} draws on no such set {counter_set.name}"
            unknown = set(counter_set.counters) - counter_sets[counter_set.name]
            if unknown:
                return (
                    f"device {device.name} draws on no such counter "
                    f"{min(unknown)} of {counter_set.name}"
                )
    return ""
