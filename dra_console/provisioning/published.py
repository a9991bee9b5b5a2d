"""Every published device as selectors see it.

Decoded slices are kept by version: a form asks on every keystroke, slices change rarely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.mirror.models import Cluster, Pool, ResourceSlice
from dra_console.telemetry.readings import DeviceKey


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """One device of the newest generation of its pool, as selectors see it."""

    key: DeviceKey
    facts: DeviceFacts


def published_devices(cluster: Cluster) -> tuple[PublishedDevice, ...]:
    """Give every published device, in order of pool and slice; takes two or three queries.

    A slice that cannot be decoded has no devices here, as it has none to allocate. While no slice
    changes, the answer is the very same.
    """
    generations = {
        (driver, name): generation
        for driver, name, generation in Pool.objects.filter(cluster=cluster).values_list(
            "driver", "name", "generation"
        )
    }
    rows = ResourceSlice.objects.filter(cluster=cluster).values_list(
        "uid", "resource_version", "driver", "pool", "pool_generation"
    )
    versions = [
        (uid, resource_version)
        for uid, resource_version, driver, pool, generation in rows
        if generations.get((driver, pool)) == generation
    ]
    return _kept.devices_of(cluster, versions)


@dataclass(frozen=True, slots=True)
class _Devices:
    """Devices by the UID and version of their slice, and all together."""

    of_slice: Mapping[tuple[str, str], tuple[PublishedDevice, ...]]
    all: tuple[PublishedDevice, ...]


NONE_YET: Final = _Devices({}, ())


class _KeptSlices:
    """Devices of decoded slices, by cluster."""

    def __init__(self) -> None:
        self._by_cluster: dict[int, _Devices] = {}
        self._lock = Lock()

    def devices_of(
        self, cluster: Cluster, versions: Sequence[tuple[str, str]]
    ) -> tuple[PublishedDevice, ...]:
        with self._lock:
            kept = self._by_cluster.get(cluster.pk, NONE_YET)
        unknown = [uid for uid, version in versions if (uid, version) not in kept.of_slice]
        if not unknown and [*kept.of_slice] == versions:
            return kept.all
        rows = ResourceSlice.objects.filter(cluster=cluster, uid__in=unknown) if unknown else ()
        known = {
            **kept.of_slice,
            **{(row.uid, row.resource_version): _decoded(row) for row in rows},
        }
        # A slice that changed between the two queries is left for the next call.
        now = {version: known[version] for version in versions if version in known}
        found = _Devices(now, tuple(device for devices in now.values() for device in devices))
        with self._lock:
            self._by_cluster[cluster.pk] = found
        return found.all


_kept: Final = _KeptSlices()


def _decoded(row: ResourceSlice) -> tuple[PublishedDevice, ...]:
    try:
        published = decode_slice(row.raw)
    except DecodeError:
        return ()
    return tuple(
        PublishedDevice(
            DeviceKey(published.driver, published.pool, device.name),
            facts_of(device, driver=published.driver),
        )
        for device in published.devices
    )
