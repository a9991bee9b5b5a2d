"""Rules for the status of a claim.

Source: `dra-semantics.md` 1.5 (status), 4.4 (what an update may do), 4.5 (admin results).
Nothing here looks at other claims: that two claims hold one device, no API server notices.
"""

from collections.abc import Iterator
from typing import Final

import orjson

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.validate import ADMIN_ACCESS_LABEL
from dra_console.devcluster.errors import Cause
from dra_console.devcluster.fields import inside

LONGEST_RESERVED_FOR: Final = 256
LONGEST_RESULTS: Final = 32
LONGEST_RESULT_CONFIG: Final = 64

DEVICE_FIELDS: Final = ("driver", "pool", "device")


def drop_freed_devices(claim: JsonObject) -> None:
    """Take out of `status.devices` what the allocation no longer holds."""
    status = claim.get("status")
    if not isinstance(status, dict) or "devices" not in status:
        return
    held = _allocated(inside(claim, "status"))
    kept = [
        device.raw
        for device in inside(claim, "status").children("devices")
        if tuple(device.text(field) for field in DEVICE_FIELDS) in held
    ]
    status["devices"] = [*kept]
    if not kept:
        del status["devices"]


def status_causes(
    claim: JsonObject, *, old: JsonObject, namespace: JsonObject | None
) -> Iterator[Cause]:
    """Yield what is wrong with a changed status.

    Raises:
        DecodeError: a field is of another type than the API declares.

    """
    status, before = inside(claim, "status"), inside(old, "status")
    is_deleting = inside(old, "metadata").has("deletionTimestamp")
    yield from _reservation_causes(status, before=before, is_deleting=is_deleting)
    allocation = status.child("allocation")
    if before.has("allocation"):
        if allocation is not None and allocation.raw != before.raw["allocation"]:
            text = orjson.dumps(allocation.raw).decode()
            message = f"Invalid value: {text}: field is immutable"
            yield Cause("status.allocation", "FieldValueInvalid", message)
    elif allocation is not None:
        yield from _allocation_causes(allocation, claim=claim, namespace=namespace)
    yield from _device_status_causes(status)


def _reservation_causes(status: Fields, *, before: Fields, is_deleting: bool) -> Iterator[Cause]:
    consumers = list(status.children("reservedFor"))
    if not consumers:
        return
    path = status.path_of("reservedFor")
    if not status.has("allocation"):
        message = "Forbidden: may not be specified when `allocated` is not set"
        yield Cause(path, "FieldValueForbidden", message)
    if len(consumers) > LONGEST_RESERVED_FOR:
        message = f"Too many: {len(consumers)}: must have at most {LONGEST_RESERVED_FOR} items"
        yield Cause(path, "FieldValueTooMany", message)
        return
    uids: set[str] = set()
    for consumer in consumers:
        for field in ("resource", "name", "uid"):
            if not consumer.text(field):
                yield Cause(consumer.path_of(field), "FieldValueRequired", "Required value")
        uid = consumer.text("uid")
        if uid in uids:
            yield Cause(consumer.path_of("uid"), "FieldValueDuplicate", f'Duplicate value: "{uid}"')
        uids.add(uid)
    known = {consumer.text("uid") for consumer in before.children("reservedFor")}
    if is_deleting and uids - known:
        message = "Forbidden: new entries may not be added while `deletionTimestamp` is set"
        yield Cause(path, "FieldValueForbidden", message)


def _allocation_causes(
    allocation: Fields, *, claim: JsonObject, namespace: JsonObject | None
) -> Iterator[Cause]:
    devices = allocation.child("devices")
    if devices is None:
        return
    results, configs = list(devices.children("results")), list(devices.children("config"))
    for field, found, most in (
        ("results", results, LONGEST_RESULTS),
        ("config", configs, LONGEST_RESULT_CONFIG),
    ):
        if len(found) > most:
            message = f"Too many: {len(found)}: must have at most {most} items"
            yield Cause(devices.path_of(field), "FieldValueTooMany", message)
            return
    for result in results:
        yield from _result_causes(result, names=_request_names(claim), namespace=namespace)
    for config in configs:
        source = config.text("source")
        if source not in {"FromClass", "FromClaim"}:
            message = f'Unsupported value: "{source}": supported values: "FromClass", "FromClaim"'
            yield Cause(config.path_of("source"), "FieldValueNotSupported", message)


def _result_causes(
    result: Fields, *, names: set[str], namespace: JsonObject | None
) -> Iterator[Cause]:
    for field in DEVICE_FIELDS:
        if not result.text(field):
            yield Cause(result.path_of(field), "FieldValueRequired", "Required value")
    request = result.text("request")
    if request not in names:
        message = f'Invalid value: "{request}": must be the name of a request in the claim'
        yield Cause(result.path_of("request"), "FieldValueInvalid", message)
    if result.boolean("adminAccess") and not _permits_admin_access(namespace):
        message = (
            "Forbidden: admin access to devices requires the"
            f" `{ADMIN_ACCESS_LABEL}: true` label on the containing namespace"
        )
        yield Cause(result.path_of("adminAccess"), "FieldValueForbidden", message)


def _device_status_causes(status: Fields) -> Iterator[Cause]:
    held = _allocated(status)
    seen: set[tuple[str, ...]] = set()
    for device in status.children("devices"):
        identity = tuple(device.text(field) for field in DEVICE_FIELDS)
        shared = (*identity, device.text("shareID"))
        if identity not in held:
            text = "/".join(identity)
            message = f'Invalid value: "{text}": must be an allocated device in the claim'
            yield Cause(device.path, "FieldValueInvalid", message)
        if shared in seen:
            text = "/".join(identity)
            yield Cause(device.path, "FieldValueDuplicate", f'Duplicate value: "{text}"')
        seen.add(shared)


def _allocated(status: Fields) -> set[tuple[str, ...]]:
    allocation = status.child("allocation")
    devices = allocation.child("devices") if allocation else None
    return {
        tuple(result.text(field) for field in DEVICE_FIELDS)
        for result in (devices.children("results") if devices else ())
    }


def _request_names(claim: JsonObject) -> set[str]:
    names: set[str] = set()
    for request in inside(claim, "spec", "devices").children("requests"):
        name = request.text("name")
        choices = [f"{name}/{choice.text('name')}" for choice in request.children("firstAvailable")]
        names.update(choices or [name])
    return names


def _permits_admin_access(namespace: JsonObject | None) -> bool:
    labels = inside(namespace or {}, "metadata", "labels")
    return labels.text(ADMIN_ACCESS_LABEL) == "true"
