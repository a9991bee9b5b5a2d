"""Fold the slices of each pool into its Pool row and its Device rows.

Run for every pool that a batch touched. A pool is derived from all of its slices and from
nothing else, so the same slices give the same rows, whichever way they came.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final, NamedTuple

from django.db.models import Q

from dra_console.allocator.decoding.versions import device_as_v1
from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, Device, Pool, ResourceSlice
from dra_console.sync import bulk
from dra_console.sync.changes import RowChange
from dra_console.sync.devices import DeviceRow, device_row, names_by_uuid
from dra_console.sync.pool_problems import pool_problem
from dra_console.sync.reading import label_in, objects_in

POOL_COLUMNS: Final = ("node_name", "generation", "slices_seen", "slices_expected", "problem")
DEVICE_COLUMNS: Final = (
    "driver",
    "pool",
    "node_name",
    "position",
    "product_name",
    "parent",
    "memory_bytes",
    "attributes",
    "capacity",
    "consumes_counters",
    "taints",
)
GREATEST_COUNT: Final = 2**31 - 1
"""What the column for a count of slices can hold; the API allows more."""


class PoolKey(NamedTuple):
    """A pool's name is unique for its driver only."""

    driver: str
    name: str


@dataclass(frozen=True, slots=True)
class Folded:
    """The rows that the slices of one pool make; not stored yet."""

    pool: Pool
    devices: list[DeviceRow]


def fold_pools(cluster: Cluster, *, changes: Sequence[RowChange[ResourceSlice]]) -> None:
    """Bring the Pool and Device rows of the slices' pools in line with their slices.

    A slice without the name of its driver or pool belongs to none; it is mirrored alone.
    What is stored of a changed slice is known, so it is not read again.
    """
    keys = _pools_of(row for each in changes for row in each if row is not None)
    if not keys:
        return
    slices = _slices_of(cluster, keys, written=[each.after for each in changes if each.after])
    slices.sort(key=lambda row: (row.driver, row.pool, row.name))
    folded = [
        fold(list(group))
        for _, group in groupby(slices, key=lambda row: PoolKey(row.driver, row.pool))
    ]
    old = [each.before for each in changes if each.before]
    new = {each.after.name for each in changes if each.after} - {row.name for row in old}
    _write_devices(
        cluster,
        # The others' slices are all new: there are no devices of theirs.
        keys=_pools_of([*old, *(row for row in slices if row.name not in new)]),
        devices=[row for each in folded for row in each.devices],
    )
    _write_pools(cluster, keys=keys, pools=[each.pool for each in folded])


def pools_with_slices(cluster: Cluster, keys: Collection[PoolKey]) -> set[PoolKey]:
    """Return those of these pools that have a slice already."""
    stored = ResourceSlice.objects.filter(_of_pools(cluster, keys, pool_field="pool"))
    found = {PoolKey(*key) for key in stored.order_by().values_list("driver", "pool")}
    return found.intersection(keys)


def _pools_of(slices: Iterable[ResourceSlice]) -> set[PoolKey]:
    return {PoolKey(row.driver, row.pool) for row in slices if row.driver and row.pool}


def _slices_of(
    cluster: Cluster, keys: Collection[PoolKey], *, written: Iterable[ResourceSlice]
) -> list[ResourceSlice]:
    at_hand = {row.name: row for row in written}
    slices, unread = [], []
    stored = ResourceSlice.objects.filter(_of_pools(cluster, keys, pool_field="pool"))
    for pk, driver, pool, name in stored.order_by().values_list("pk", "driver", "pool", "name"):
        if PoolKey(driver, pool) not in keys:
            continue
        if (row := at_hand.get(name)) is None:
            unread.append(pk)
        else:
            row.pk = pk
            slices.append(row)
    if unread:
        slices += ResourceSlice.objects.filter(pk__in=unread)
    return slices


def newest(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the newest generation; older ones must not be used (KEP-4381)."""
    slices = list(slices)
    generation = max(row.pool_generation for row in slices)
    return [row for row in slices if row.pool_generation == generation]


def fold(slices: Sequence[ResourceSlice]) -> Folded:
    """Fold all slices of one pool; at least one, in the order of their names."""
    used = newest(slices)
    first = used[0]
    published = [[device_as_v1(each) for each in _published_by(row)] for row in used]
    uuids = names_by_uuid(chain.from_iterable(published), driver=first.driver)
    devices = [
        device_row(row, each, position=position, uuids=uuids)
        for row, its in zip(used, published, strict=True)
        for position, each in enumerate(_each_name_once(its))
    ]
    node_names = {row.node_name for row in used}
    pool = Pool(
        cluster_id=first.cluster_id,
        driver=first.driver,
        name=first.pool,
        node_name=first.node_name if len(node_names) == 1 else "",
        generation=first.pool_generation,
        slices_seen=len(used),
        slices_expected=min(max(first.pool_slice_count, 0), GREATEST_COUNT),
        problem=pool_problem([row.raw for row in used]),
    )
    return Folded(pool, devices)


def _published_by(row: ResourceSlice) -> list[JsonObject]:
    return objects_in(row.raw, "spec", "devices")


def _each_name_once(published: Sequence[JsonObject]) -> list[JsonObject]:
    # The API server refuses a name that occurs twice in one slice, and a device without one;
    # a row per name is all that can be kept if one does get here, and the pool's problem
    # tells of it.
    by_name = {label_in(device, "name"): device for device in reversed(published)}
    return [device for name, device in reversed(by_name.items()) if name]


def _write_pools(cluster: Cluster, *, keys: set[PoolKey], pools: Sequence[Pool]) -> None:
    if gone := keys - {PoolKey(row.driver, row.name) for row in pools}:
        empty = Pool.objects.filter(_of_pools(cluster, gone, pool_field="name"))
        pks = [row.pk for row in empty if PoolKey(row.driver, row.name) in gone]
        Pool.objects.filter(pk__in=pks).delete()
    bulk.write(Pool, pools, unique_fields=("cluster", "driver", "name"), update_fields=POOL_COLUMNS)


def _write_devices(
    cluster: Cluster, *, keys: Collection[PoolKey], devices: Sequence[DeviceRow]
) -> None:
    rows = Device.objects.filter(_of_pools(cluster, keys, pool_field="pool")) if keys else ()
    stored = {
        (row.slice_id, row.name): row for row in rows if PoolKey(row.driver, row.pool) in keys
    }
    wanted = {(row.slice.pk, row.name): row for row in devices}
    if gone := [row.pk for identity, row in stored.items() if identity not in wanted]:
        Device.objects.filter(pk__in=gone).delete()
    bulk.write_values(
        Device, [row.values() for identity, row in wanted.items() if identity not in stored]
    )
    bulk.write_values(
        Device,
        [
            wanted[identity].values()
            for identity, row in stored.items()
            if identity in wanted and not _is_same(wanted[identity], row)
        ],
        unique_fields=("slice", "name"),
        update_fields=DEVICE_COLUMNS,
    )


def _is_same(wanted: DeviceRow, stored: Device) -> bool:
    return all(getattr(wanted, column) == getattr(stored, column) for column in DEVICE_COLUMNS)


def _of_pools(cluster: Cluster, keys: Collection[PoolKey], *, pool_field: str) -> Q:
    """Select a little too much where two drivers share a pool name; callers look again."""
    return Q(
        cluster=cluster,
        driver__in={key.driver for key in keys},
        **{f"{pool_field}__in": {key.name for key in keys}},
    )
