"""Write slices that were never seen before: the rows that `reconcile` would write, faster.

Only slices whose pools were never seen either: those of a pool that is known in part are
folded with what is known of it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, Literal, NamedTuple

import msgspec

from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import Cluster, Device, ObjectChange, Pool, ResourceSlice
from dra_console.sync import bulk
from dra_console.sync.devices import PRODUCT_NAME_LENGTH, bytes_of, names_in_domain, parent_name
from dra_console.sync.objects import ObjectKey
from dra_console.sync.pool_problems import first_problem
from dra_console.sync.pools import GREATEST_COUNT, POOL_COLUMNS, PoolKey, pools_with_slices
from dra_console.sync.reading import label_of, name_of, pool_of
from dra_console.sync.sent import (
    NO_ENTRIES,
    NO_FIELDS,
    SentMetadata,
    common_values,
    first_happening,
    last_happening,
)
from dra_console.sync.slice_facts import facts_of
from dra_console.sync.slice_shape import (
    Amount,
    Attribute,
    DeviceFields,
    Draw,
    SpecFields,
    Taint,
)


class _Device(DeviceFields, gc=False, rename="camel"):
    attributes: msgspec.Raw = NO_FIELDS
    capacity: msgspec.Raw = NO_FIELDS
    consumes_counters: msgspec.Raw = NO_ENTRIES
    taints: msgspec.Raw = NO_ENTRIES


class _Spec(SpecFields, gc=False, rename="camel"):
    devices: list[_Device] = msgspec.field(default_factory=list)


class _Slice(msgspec.Struct, gc=False, rename="camel"):
    api_version: Literal["resource.k8s.io/v1"]
    metadata: SentMetadata
    spec: _Spec


_read_slice: Final = msgspec.json.Decoder(_Slice).decode
_read_attributes: Final = msgspec.json.Decoder(dict[str, Attribute]).decode
_read_capacity: Final = msgspec.json.Decoder(dict[str, Amount]).decode
_read_draws: Final = msgspec.json.Decoder(list[Draw]).decode
_read_taints: Final = msgspec.json.Decoder(list[Taint]).decode


class _ReadDevice(NamedTuple):
    sent: _Device
    attributes: dict[str, Attribute]
    capacity: dict[str, Amount]
    draws: Sequence[Draw]


class NewSlice(NamedTuple):
    """A slice as far as rows are made of it."""

    text: bytes
    published: _Slice
    devices: list[_ReadDevice]
    key: ObjectKey
    pool: PoolKey


def read_slices(cluster: Cluster, texts: Iterable[bytes]) -> list[NewSlice]:
    """Read slices; those of another shape are left out, and those of known pools."""
    slices = [each for text in texts if (each := _slice_of(text)) is not None]
    known = pools_with_slices(cluster, {each.pool for each in slices})
    return [each for each in slices if each.pool not in known]


def write_slices(cluster: Cluster, slices: Sequence[NewSlice], *, seen_at: datetime) -> bool:
    """Write the rows of slices of which there is none; they change nothing about who holds what."""
    bulk.write_values(
        ResourceSlice, [_slice_row(cluster.pk, each, seen_at=seen_at) for each in slices]
    )
    names = [each.key.name for each in slices]
    stored = ResourceSlice.objects.filter(cluster=cluster, name__in=names)
    pks = dict(stored.order_by().values_list("name", "pk"))
    pools: list[bulk.Values] = []
    devices: list[bulk.Values] = []
    in_order = sorted(slices, key=lambda each: (each.pool, each.key))
    for _, group in groupby(in_order, key=lambda each: each.pool):
        newest = _newest(list(group))
        pools.append(_pool_row(cluster.pk, newest))
        devices += _device_rows(cluster.pk, newest, pks=pks)
    bulk.write_values(Device, devices)
    bulk.write_values(
        Pool, pools, unique_fields=("cluster", "driver", "name"), update_fields=POOL_COLUMNS
    )
    bulk.write_values(
        ObjectChange,
        [
            (cluster.pk, RESOURCE_SLICES.plural, *each.key, uid, seen_at, happened, detail)
            for each in slices
            for uid in (each.published.metadata.uid,)
            for happened, detail in (
                first_happening(each.published.metadata),
                *last_happening(each.published.metadata),
            )
        ],
    )
    return False


def _slice_of(text: bytes) -> NewSlice | None:
    try:
        published = _read_slice(text)
        devices = [_device_of(each) for each in published.spec.devices]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    metadata, spec = published.metadata, published.spec
    pool = PoolKey(label_of(spec.driver), pool_of(spec.pool.name))
    names = {each.name for each in spec.devices}
    is_plain = all(pool) and len(names) == len(devices) and all(map(label_of, names))
    if not is_plain:
        return None
    return NewSlice(text, published, devices, ObjectKey(metadata.namespace, metadata.name), pool)


def _device_of(sent: _Device) -> _ReadDevice:
    if sent.taints is not NO_ENTRIES:
        _read_taints(sent.taints)
    return _ReadDevice(
        sent,
        _read_attributes(sent.attributes),
        _read_capacity(sent.capacity),
        () if sent.consumes_counters is NO_ENTRIES else _read_draws(sent.consumes_counters),
    )


def _newest(slices: Sequence[NewSlice]) -> list[NewSlice]:
    generation = max(each.published.spec.pool.generation for each in slices)
    return [each for each in slices if each.published.spec.pool.generation == generation]


def _slice_row(cluster_id: int, each: NewSlice, *, seen_at: datetime) -> bulk.Values:
    spec = each.published.spec
    return (
        *common_values(cluster_id, each.published.metadata, each.text, seen_at=seen_at),
        *each.pool,
        spec.pool.generation,
        spec.pool.resource_slice_count,
        name_of(spec.node_name),
    )


def _pool_row(cluster_id: int, newest: Sequence[NewSlice]) -> bulk.Values:
    first = newest[0].published.spec
    node_names = {name_of(each.published.spec.node_name) for each in newest}
    facts = [
        facts_of(each.published.spec, [(device.sent.name, device.draws) for device in each.devices])
        for each in newest
    ]
    return (
        cluster_id,
        *newest[0].pool,
        node_names.pop() if len(node_names) == 1 else "",
        first.pool.generation,
        len(newest),
        min(max(first.pool.resource_slice_count, 0), GREATEST_COUNT),
        first_problem(facts),
    )


def _device_rows(
    cluster_id: int, newest: Sequence[NewSlice], *, pks: dict[str, int]
) -> list[bulk.Values]:
    driver, pool = newest[0].pool
    named = names_in_domain(driver)
    uuids = {
        uuid: device.sent.name
        for each in newest
        for device in each.devices
        if (uuid := _text(device.attributes, named.uuid))
    }
    rows: list[bulk.Values] = []
    for each in newest:
        pk, node_name = pks[each.key.name], name_of(each.published.spec.node_name)
        rows += [
            (
                cluster_id,
                pk,
                driver,
                pool,
                device.sent.name,
                name_of(device.sent.node_name) or node_name,
                position,
                _text(device.attributes, named.product_name)[:PRODUCT_NAME_LENGTH],
                parent_name(
                    device.sent.name,
                    parent_uuid=_text(device.attributes, named.parent_uuid),
                    counter_sets=[draw.counter_set for draw in device.draws],
                    uuids=uuids,
                ),
                _memory_bytes(device.capacity, named.memory),
                device.sent.attributes,
                device.sent.capacity,
                device.sent.consumes_counters,
                device.sent.taints,
            )
            for position, device in enumerate(each.devices)
        ]
    return rows


def _text(attributes: dict[str, Attribute], names: tuple[str, str]) -> str:
    """Return the text attribute of the first of these names that is one; else empty."""
    for name in names:
        if (found := attributes.get(name)) is not None and found.string:
            return found.string
    return ""


def _memory_bytes(capacity: dict[str, Amount], names: tuple[str, str]) -> int | None:
    bare, qualified = names
    amount = capacity.get(bare) or capacity.get(qualified)
    return None if amount is None else bytes_of(amount.value)
