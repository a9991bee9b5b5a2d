"""Every published device as selectors see it.

Decoded slices are kept by version: a form asks on every keystroke, slices change rarely.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, Pool, ResourceSlice
from dra_console.mirror.raw_objects import parsed_raw, raw_text
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


ROWS_AT_ONCE: Final = 500
"""To bound memory and the number of SQL parameters."""

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
        known = {**kept.of_slice, **dict(_read(cluster, unknown))}
        # A slice that changed between the two queries is left for the next call.
        now = {version: known[version] for version in versions if version in known}
        found = _Devices(now, tuple(device for devices in now.values() for device in devices))
        with self._lock:
            self._by_cluster[cluster.pk] = found
        return found.all


_kept: Final = _KeptSlices()


def _read(
    cluster: Cluster, uids: Sequence[str]
) -> Iterator[tuple[tuple[str, str], tuple[PublishedDevice, ...]]]:
    rows = ResourceSlice.objects.filter(cluster=cluster).order_by()
    for start in range(0, len(uids), ROWS_AT_ONCE):
        some = rows.filter(uid__in=uids[start : start + ROWS_AT_ONCE])
        for uid, version, text in some.values_list("uid", "resource_version", raw_text()):
            yield (uid, version), _decoded(parsed_raw(text))


def _decoded(raw: JsonObject) -> tuple[PublishedDevice, ...]:
    try:
        published = decode_slice(raw)
    except DecodeError:
        return ()
    return tuple(
        PublishedDevice(
            DeviceKey(published.driver, published.pool, device.name),
            facts_of(device, driver=published.driver),
        )
        for device in published.devices
    )
