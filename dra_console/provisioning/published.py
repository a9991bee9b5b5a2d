"""Every published device as selectors see it.

Decoded slices are kept by version: a form asks on every keystroke, slices change rarely.
"""

from collections.abc import Iterable, Sequence
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

    A slice that cannot be decoded has no devices here, as it has none to allocate.
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
    return tuple(_kept.devices_of(cluster, versions))


class _KeptSlices:
    """Devices of decoded slices, by cluster and by the slice's UID and version."""

    def __init__(self) -> None:
        self._by_cluster: dict[int, dict[tuple[str, str], tuple[PublishedDevice, ...]]] = {}
        self._lock = Lock()

    def devices_of(
        self, cluster: Cluster, versions: Sequence[tuple[str, str]]
    ) -> Iterable[PublishedDevice]:
        with self._lock:
            kept = self._by_cluster.get(cluster.pk, {})
        unknown = [uid for uid, version in versions if (uid, version) not in kept]
        rows = ResourceSlice.objects.filter(cluster=cluster, uid__in=unknown) if unknown else ()
        known = kept | {(row.uid, row.resource_version): _decoded(row) for row in rows}
        # A slice that changed between the two queries is left for the next call.
        now = {version: known[version] for version in versions if version in known}
        with self._lock:
            self._by_cluster[cluster.pk] = now
        return (device for devices in now.values() for device in devices)


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
