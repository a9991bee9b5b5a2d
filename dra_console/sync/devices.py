"""What a device's row repeats of its entry in a slice. Pure."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from dra_console.allocator.decoding.reading import LARGEST_INTEGER
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.mirror.models import ResourceSlice
from dra_console.sync import bulk
from dra_console.sync.reading import (
    LONGEST_LABEL,
    label_in,
    name_in,
    object_in,
    objects_in,
    text_in,
)

COUNTER_SET_SUFFIX: Final = "-counter-set"
"""How GPU drivers name the counter set of one GPU: `gpu-0-counter-set` (node-agent.md 5.5)."""

PARTITION_INFIX: Final = "-mig-"
"""How GPU drivers name a partition: `gpu-0-mig-1g5gb-19-0` (node-agent.md 5.4)."""

PRODUCT_NAME_LENGTH: Final = 64


class DeviceRow(NamedTuple):
    """What a Device's row holds; not stored yet. Fields in the model's order."""

    cluster_id: int
    slice: ResourceSlice
    driver: str
    pool: str
    name: str
    node_name: str
    position: int
    product_name: str
    parent: str
    memory_bytes: int | None
    attributes: JsonObject
    capacity: JsonObject
    consumes_counters: list[JsonObject]
    taints: list[JsonObject]

    def __str__(self) -> str:
        """Name it as the stored row does."""
        return f"{self.driver}/{self.pool}/{self.name}"

    def values(self) -> bulk.Values:
        """Return what `bulk` writes."""
        return (self.cluster_id, self.slice.pk, *self[2:])


def device_row(
    row: ResourceSlice, published: JsonObject, *, position: int, uuids: Mapping[str, str]
) -> DeviceRow:
    """Read one entry of the slice's `spec.devices`; `uuids` maps the whole pool's to names."""
    attributes = object_in(published, "attributes")
    capacity = object_in(published, "capacity")
    names = names_in_domain(row.driver)
    # By position, for there are many: the names would take as long as the rest.
    return DeviceRow(
        row.cluster_id,
        row,
        row.driver,
        row.pool,
        label_in(published, "name"),
        name_in(published, "nodeName") or row.node_name,
        position,
        _attribute_text(attributes, names.product_name)[:PRODUCT_NAME_LENGTH],
        _parent_of(published, attributes, names=names, uuids=uuids),
        _memory_bytes(capacity, names=names.memory),
        attributes,
        capacity,
        objects_in(published, "consumesCounters"),
        objects_in(published, "taints"),
    )


def names_by_uuid(published: Iterable[JsonObject], *, driver: str) -> dict[str, str]:
    """Map the UUIDs that devices of a pool publish to their names."""
    names = names_in_domain(driver).uuid
    return {
        uuid: label_in(device, "name")
        for device in published
        if (uuid := _attribute_text(object_in(device, "attributes"), names))
    }


class Names(NamedTuple):
    """The names of what is read, each bare and in the driver's own domain, as it may be."""

    product_name: tuple[str, str]
    uuid: tuple[str, str]
    parent_uuid: tuple[str, str]
    memory: tuple[str, str]


@lru_cache(maxsize=64)
def names_in_domain(driver: str) -> Names:
    """Name what is read of a driver's devices."""
    # Remembered: to put them together for each device would take as long as to read it.
    names = ("productName", "uuid", "parentUUID", "memory")
    return Names(*((name, f"{driver}/{name}") for name in names))


def _parent_of(
    published: JsonObject, attributes: JsonObject, *, names: Names, uuids: Mapping[str, str]
) -> str:
    return parent_name(
        text_in(published, "name"),
        parent_uuid=_attribute_text(attributes, names.parent_uuid),
        counter_sets=[
            text_in(draw, "counterSet") for draw in objects_in(published, "consumesCounters")
        ],
        uuids=uuids,
    )


def parent_name(
    name: str, *, parent_uuid: str, counter_sets: Iterable[str], uuids: Mapping[str, str]
) -> str:
    """Name the GPU that a device is a partition of; empty for a whole device.

    Nothing in the API says so outright. In this order, what drivers do publish is believed:

    1. attribute `parentUUID`, where a device of the pool has that `uuid`;
    2. the counter set that the device draws on, where the device's name continues the
       set's GPU name (`gpu-0-mig-...` draws on `gpu-0-counter-set`). The GPU itself draws
       on the same set, under the very name. A GPU with MIG on is often not published at
       all, so the name need not be that of a device;
    3. attribute `parentUUID` without such a device: then it is a partition for certain,
       and the part of its name before `-mig-` is the GPU's.
    """
    if parent_uuid in uuids:
        return uuids[parent_uuid]
    for counter_set in counter_sets:
        gpu = counter_set.removesuffix(COUNTER_SET_SUFFIX)
        if gpu and name.startswith(f"{gpu}-"):
            return gpu[:LONGEST_LABEL]
    if parent_uuid and PARTITION_INFIX in name:
        return name.partition(PARTITION_INFIX)[0][:LONGEST_LABEL]
    return ""


def _attribute_text(attributes: JsonObject, names: tuple[str, str]) -> str:
    """Return the text attribute of the first of these names that is one; else empty."""
    for name in names:
        if name in attributes and (text := text_in(attributes[name], "string")):
            return text
    return ""


def _memory_bytes(capacity: JsonObject, *, names: tuple[str, str]) -> int | None:
    """Return capacity `memory` in bytes, rounded up; `None` if absent or not an amount.

    No more than a column of 64 bits takes.
    """
    bare, qualified = names
    memory = object_in(capacity, bare) or object_in(capacity, qualified)
    value = memory.get("value")
    # The API server also takes a bare number for a quantity.
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return bytes_of(str(value))


@lru_cache(maxsize=256)
def bytes_of(amount: str) -> int | None:
    """Return an amount of memory in whole bytes; `None` if it is none."""
    # Remembered: a fleet has few sizes of memory.
    try:
        memory_bytes = Quantity.parse(amount).units_rounded_up
    except QuantityError:
        return None
    return None if memory_bytes < 0 else min(memory_bytes, LARGEST_INTEGER)
