"""From API objects to what detection looks at; small, since it is kept for whole fleets."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final

import orjson

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import decode_claim_spec
from dra_console.allocator.decoding.decode_status import allocation, consumer
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    ClaimSpec,
    ConsumerReference,
    Device,
    DeviceResult,
    DeviceWish,
    JsonObject,
    ResourceSlice,
)
from dra_console.allocator.world.counters import draws_of, totals_of
from dra_console.scheduling.coexistence.facts import PLAIN, DeviceFacts, HeldClaim, SliceFacts
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL

EXTENDED_RESOURCE: Final = "resource.kubernetes.io/extended-resource-claim"
SPECS_KEPT: Final = 4_096
"""Claims are made from few templates; equal specs are one object."""


def held_claim(
    raw: JsonObject,
    *,
    node_name: str,
    allocated_at: datetime | None,
    deletion_requested_at: datetime | None,
) -> HeldClaim:
    """Read a claim that is allocated or being deleted.

    Of one that cannot be read in full, the devices stay: they are in use, whatever else it says.
    """
    metadata = object_of(raw.get("metadata"))
    status = object_of(raw.get("status"))
    given = status.get("allocation")
    results, consumers, is_readable = _status(status)
    labels = object_of(metadata.get("labels"))
    finalizers = metadata.get("finalizers")
    return HeldClaim(
        uid=str(metadata.get("uid", "")),
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        results=results,
        wishes=_wishes_in(raw),
        is_allocated=isinstance(given, dict),
        reserved_for=consumers,
        finalizers=tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        allocated_at=allocated_at,
        deletion_requested_at=deletion_requested_at,
        node_name=node_name,
        allocated_by=allocated_by(metadata),
        is_reserve_ahead=labels.get(RESERVE_AHEAD_LABEL) == "true",
        serves_extended_resource=EXTENDED_RESOURCE in object_of(metadata.get("annotations")),
        is_readable=is_readable,
    )


def allocated_by(metadata: JsonObject) -> str:
    """Name the field manager that owns `status.allocation`; empty: the server does not say."""
    for entry in objects_of(metadata.get("managedFields")):
        fields = object_of(object_of(entry.get("fieldsV1")).get("f:status"))
        if "f:allocation" in fields:
            return str(entry.get("manager", ""))
    return ""


def slice_facts(decoded: ResourceSlice) -> SliceFacts:
    """Keep of a slice what matters while its devices are held."""
    return SliceFacts(
        name=decoded.name,
        pool_id=decoded.pool_id,
        generation=decoded.generation,
        slice_count=decoded.resource_slice_count,
        devices={device.name: _device_facts(device) for device in decoded.devices},
        counters=totals_of(decoded.shared_counters) if decoded.shared_counters else {},
        has_counters=bool(decoded.shared_counters),
    )


def newest_devices(slices: Iterable[ResourceSlice]) -> Mapping[str, Device]:
    """Return the devices of a pool's newest generation by name."""
    with_devices = [each for each in slices if not each.shared_counters]
    newest = max((each.generation for each in with_devices), default=0)
    return {
        device.name: device
        for each in with_devices
        if each.generation == newest
        for device in each.devices
    }


def _device_facts(device: Device) -> DeviceFacts:
    is_shared = device.allow_multiple_allocations
    if not (device.taints or device.consumes_counters or is_shared):
        return PLAIN
    capacity = {name: each.value for name, each in device.capacity.items()} if is_shared else None
    return DeviceFacts(
        taints=device.taints,
        draws=draws_of(device) if device.consumes_counters else (),
        capacity=capacity,
    )


def _status(
    status: JsonObject,
) -> tuple[tuple[DeviceResult, ...], tuple[ConsumerReference, ...], bool]:
    fields = Fields("status", status)
    try:
        given = fields.child("allocation")
        results = () if given is None else allocation(given).results
        return results, tuple(consumer(each) for each in fields.children("reservedFor")), True
    except DecodeError:
        return _names_of_devices(status), (), False


def _names_of_devices(status: JsonObject) -> tuple[DeviceResult, ...]:
    devices = object_of(object_of(status.get("allocation")).get("devices"))
    return tuple(
        DeviceResult(
            request=str(result.get("request", "")),
            driver=str(result.get("driver", "")),
            pool=str(result.get("pool", "")),
            device=str(result.get("device", "")),
            admin_access=result.get("adminAccess") is True,
        )
        for result in objects_of(devices.get("results"))
    )


def _wishes_in(raw: JsonObject) -> Mapping[str, DeviceWish]:
    version = raw.get("apiVersion")
    return _wishes(orjson.dumps(raw.get("spec")), version if isinstance(version, str) else "")


@lru_cache(maxsize=SPECS_KEPT)
def _wishes(spec: bytes, api_version: str) -> Mapping[str, DeviceWish]:
    try:
        decoded = decode_claim_spec(orjson.loads(spec), api_version=api_version)
    except DecodeError:
        return {}
    return _by_request(decoded)


def _by_request(spec: ClaimSpec) -> Mapping[str, DeviceWish]:
    wishes: dict[str, DeviceWish] = {}
    for request in spec.requests:
        if request.exactly is not None:
            wishes[request.name] = request.exactly
        for alternative in request.first_available:
            wishes[f"{request.name}/{alternative.name}"] = alternative.wish
    return wishes
