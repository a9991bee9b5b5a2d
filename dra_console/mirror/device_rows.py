"""The mirror rows that together say what state devices are in, in a fixed number of queries.

A fleet of 40,000 devices takes seconds to read whole, and almost all of it is as it was for
the page before. So what each pool publishes is kept by the versions of its slices, which
decide it alone; only pools with another version are read again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from django.db.models import Q

from dra_console.allocator import inventory
from dra_console.allocator.decoding.decode import decode_taint_rule
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.mirror.device_state import Holder
from dra_console.mirror.models import (
    Cluster,
    Device,
    DeviceAssignment,
    DeviceTaintRule,
    Node,
    Pool,
    ResourceSlice,
)
from dra_console.mirror.partitions import Counter, Draws, published_in

DeviceKey: TypeAlias = tuple[str, str, str]
"""Driver, pool, device."""

PoolKey: TypeAlias = tuple[str, str]
"""Driver, pool."""

SliceVersion: TypeAlias = tuple[int, str, str, int]
"""Primary key, UID, resource version and the pool's generation that it is of."""

POOLS_READ_ONE_BY_ONE: Final = 300
"""With more pools to read anew, the whole cluster is read, in fewer and plainer queries."""


class NodeFacts(NamedTuple):
    """What of a node decides whether its devices can be used."""

    name: str
    ready: bool | None
    unschedulable: bool


class PoolFacts(NamedTuple):
    """A pool's row."""

    driver: str
    name: str
    node_name: str
    generation: int
    slices_seen: int
    slices_expected: int
    problem: str

    @property
    def is_complete(self) -> bool:
        """Tell whether every slice of the newest generation has been seen."""
        return self.slices_seen == self.slices_expected


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What a pool publishes in its newest generation; not to be changed, for it is shared.

    Compared by identity: a pool that was not read again is the same.
    """

    versions: tuple[SliceVersion, ...]
    devices: tuple[Device, ...]
    """In the driver's own order."""

    counters: Draws
    node_names: tuple[str, ...]
    """Of the devices, each once."""


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Devices, and everything that bears on their state."""

    published: Mapping[PoolKey, Published]
    """In order of driver and pool."""

    holders: Mapping[PoolKey, list[tuple[str, Holder]]]
    """With the name of the device that each holds; oldest first."""

    pools: Mapping[PoolKey, PoolFacts]
    nodes: Mapping[str, NodeFacts]
    """By name."""

    taint_rules: tuple[inventory.DeviceTaintRule, ...]


def read_rows(cluster: Cluster, *, pools: Collection[PoolKey] | None = None) -> DeviceRows:
    """Read the rows of a whole cluster, or of some pools of it, in at most seven queries."""
    within = _within(cluster, pools)
    published = read_published(cluster, pools=pools)
    nodes = Node.objects.filter(cluster=cluster)
    if pools is not None:
        nodes = nodes.filter(
            name__in=[name for each in published.values() for name in each.node_names]
        )
    holders: dict[PoolKey, list[tuple[str, Holder]]] = defaultdict(list)
    open_now = DeviceAssignment.objects.filter(within, released_at=None)
    for driver, name, device, *held in open_now.order_by("assigned_at", "pk").values_list(
        "driver", "pool", "device", *(field.name for field in fields(Holder))
    ):
        holders[(driver, name)].append((device, Holder(*held)))
    rules = DeviceTaintRule.objects.filter(cluster=cluster)
    return DeviceRows(
        published=published,
        holders=holders,
        pools=read_pools(cluster, pools=pools),
        nodes={row[0]: NodeFacts(*row) for row in nodes.values_list(*NodeFacts._fields)},
        taint_rules=tuple(_decoded(rules.values_list("raw", flat=True))),
    )


def _decoded(rules: Iterable[JsonObject]) -> Iterator[inventory.DeviceTaintRule]:
    """Decode rules; one that cannot be read taints nothing, as it does for the allocator."""
    for rule in rules:
        with suppress(DecodeError):
            yield decode_taint_rule(rule)


def _within(cluster: Cluster, pools: Collection[PoolKey] | None, *, name_field: str = "pool") -> Q:
    if pools is None:
        return Q(cluster=cluster)
    either = Q(pk__in=[])
    for driver, name in pools:
        either |= Q(("driver", driver), (name_field, name))
    return Q(cluster=cluster) & either


def read_pools(
    cluster: Cluster, *, pools: Collection[PoolKey] | None = None
) -> dict[PoolKey, PoolFacts]:
    """Read the pools of a cluster, or some of them, by driver and name."""
    rows = Pool.objects.filter(_within(cluster, pools, name_field="name"))
    return {(row[0], row[1]): PoolFacts(*row) for row in rows.values_list(*PoolFacts._fields)}


def read_published(
    cluster: Cluster, *, pools: Collection[PoolKey] | None = None
) -> dict[PoolKey, Published]:
    """Tell what pools publish, in one query, and two more where a slice has changed."""
    rows = ResourceSlice.objects.filter(_within(cluster, pools)).exclude(driver="")
    rows = rows.exclude(pool="")
    versions: dict[PoolKey, list[SliceVersion]] = defaultdict(list)
    for driver, name, *version in rows.order_by("driver", "pool", "name").values_list(
        "driver", "pool", "pk", "uid", "resource_version", "pool_generation"
    ):
        versions[(driver, name)].append(tuple(version))  # type: ignore[arg-type]  # as selected
    return _kept.published(cluster, versions, is_whole=pools is None)


class _KeptPools:
    """What pools publish, by cluster and pool, for as long as its slices keep their versions.

    A removed cluster stays until this process ends: another process removes it, rarely, and to
    ask at each page whether it still exists would cost more than it takes up.
    """

    def __init__(self) -> None:
        self._by_cluster: dict[int, dict[PoolKey, Published]] = {}
        self._lock = Lock()

    def published(
        self, cluster: Cluster, versions: Mapping[PoolKey, list[SliceVersion]], *, is_whole: bool
    ) -> dict[PoolKey, Published]:
        with self._lock:
            kept = dict(self._by_cluster.get(cluster.pk, {}))
        # Versions were read before devices: what is read now is at least as new as they are.
        outdated = {
            key
            for key, wanted in versions.items()
            if key not in kept or kept[key].versions != tuple(wanted)
        }
        fresh = _read(cluster, outdated, versions) if outdated else {}
        now = {key: fresh[key] if key in fresh else kept[key] for key in versions}
        with self._lock:
            self._by_cluster[cluster.pk] = now if is_whole else {**kept, **now}
        return now

    def forget(self) -> None:
        with self._lock:
            self._by_cluster.clear()


_kept: Final = _KeptPools()

forget_published: Final = _kept.forget
"""Read everything anew; for tests, in which other databases come with the same keys."""


def _read(
    cluster: Cluster,
    keys: Collection[PoolKey],
    versions: Mapping[PoolKey, list[SliceVersion]],
) -> dict[PoolKey, Published]:
    within = Q(cluster=cluster)
    if len(keys) <= POOLS_READ_ONE_BY_ONE:
        within &= Q(driver__in={key[0] for key in keys}, pool__in={key[1] for key in keys})
    devices: dict[PoolKey, list[Device]] = defaultdict(list)
    for device in Device.objects.filter(within):
        devices[(device.driver, device.pool)].append(device)
    newest = {key: max(version[-1] for version in versions[key]) for key in keys}
    counters = _read_counters(within, newest=newest)
    return {
        key: Published(
            versions=tuple(versions[key]),
            devices=tuple(devices[key]),
            counters=counters.get(key, {}),
            node_names=tuple(dict.fromkeys(one.node_name for one in devices[key] if one.node_name)),
        )
        for key in keys
    }


def _read_counters(within: Q, *, newest: Mapping[PoolKey, int]) -> dict[PoolKey, Draws]:
    """Read the counters that pools publish in their newest generation."""
    published: dict[PoolKey, dict[Counter, Quantity]] = defaultdict(dict)
    slices = ResourceSlice.objects.filter(within, raw__spec__sharedCounters__isnull=False)
    for driver, name, generation, shared_counters in slices.values_list(
        "driver", "pool", "pool_generation", "raw__spec__sharedCounters"
    ):
        if newest.get((driver, name)) == generation:
            published[(driver, name)] |= published_in(shared_counters)
    return dict(published)
