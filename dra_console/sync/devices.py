"""What a device's row repeats of its entry in a slice. Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dra_console.allocator.decoding.reading import LARGEST_INTEGER
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity
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


class DeviceFacts(NamedTuple):
    """Columns of a device, in the model's order; see `mirror.models.Device` for their meaning."""

    name: str
    node_name: str
    position: int
    product_name: str
    parent: str
    memory_bytes: int | None
    attributes: JsonObject
    capacity: JsonObject
    consumes_counters: list[Json]
    taints: list[Json]


def device_facts(
    published: JsonObject, *, position: int, driver: str, uuids: Mapping[str, str]
) -> DeviceFacts:
    """Read one entry of `spec.devices`; `uuids` maps the whole pool's UUIDs to names."""
    attributes = object_in(published, "attributes")
    capacity = object_in(published, "capacity")
    return DeviceFacts(
        name=label_in(published, "name"),
        node_name=name_in(published, "nodeName"),
        position=position,
        product_name=_attribute_text(attributes, "productName", driver)[:PRODUCT_NAME_LENGTH],
        parent=_parent_of(published, attributes, driver=driver, uuids=uuids),
        memory_bytes=_memory_bytes(capacity, driver=driver),
        attributes=attributes,
        capacity=capacity,
        consumes_counters=list[Json](objects_in(published, "consumesCounters")),
        taints=list[Json](objects_in(published, "taints")),
    )


def names_by_uuid(published: Sequence[JsonObject], *, driver: str) -> dict[str, str]:
    """Map the UUIDs that devices of a pool publish to their names."""
    return {
        uuid: label_in(device, "name")
        for device in published
        if (uuid := _attribute_text(object_in(device, "attributes"), "uuid", driver))
    }


def _parent_of(
    published: JsonObject, attributes: JsonObject, *, driver: str, uuids: Mapping[str, str]
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
    parent_uuid = _attribute_text(attributes, "parentUUID", driver)
    if parent_uuid in uuids:
        return uuids[parent_uuid]
    name = text_in(published, "name")
    for draw in objects_in(published, "consumesCounters"):
        gpu = text_in(draw, "counterSet").removesuffix(COUNTER_SET_SUFFIX)
        if gpu and name.startswith(f"{gpu}-"):
            return gpu[:LONGEST_LABEL]
    if parent_uuid and PARTITION_INFIX in name:
        return name.partition(PARTITION_INFIX)[0][:LONGEST_LABEL]
    return ""


def _attribute_text(attributes: JsonObject, name: str, driver: str) -> str:
    """Return a text attribute; an unqualified name is in the driver's own domain."""
    return text_in(attributes, name, "string") or text_in(attributes, f"{driver}/{name}", "string")


def _memory_bytes(capacity: JsonObject, *, driver: str) -> int | None:
    """Return capacity `memory` in bytes, rounded up; `None` if absent or not an amount.

    No more than a column of 64 bits takes.
    """
    memory = object_in(capacity, "memory") or object_in(capacity, f"{driver}/memory")
    value = memory.get("value")
    # The API server also takes a bare number for a quantity.
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _bytes_of(str(value))


@lru_cache(maxsize=256)
def _bytes_of(amount: str) -> int | None:
    # Remembered: a fleet has few sizes of memory.
    try:
        memory_bytes = Quantity.parse(amount).units_rounded_up
    except QuantityError:
        return None
    return None if memory_bytes < 0 else min(memory_bytes, LARGEST_INTEGER)
