"""Rules for ResourceSlices, as the API server checks them one slice at a time.

What several slices make of a pool (a device in two of them, a counter set that nobody has) the
server does not see; the allocator does.
"""

from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.attribute_rules import LISTS
from dra_console.allocator.validation.counter_rules import check_counter_sets
from dra_console.allocator.validation.device_rules import check_device
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_driver_name,
    check_fully_qualified_name,
    check_pool_name,
    check_unique,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.operation_rules import check_skipped_operations
from dra_console.allocator.validation.reach_rules import check_reach

DEVICES_LIMIT: Final = 128
DEVICES_LIMIT_WITH_EXTRAS: Final = 64
"""If any device has taints, consumes counters, or has a list-valued attribute."""


def check_slice_spec(
    spec: Fields, errors: FieldErrors, *, stored: Fields | None, rules: Rules
) -> None:
    """Check the spec of a slice; parts that are `stored` already are held to older rules."""
    check_driver_name(spec.text("driver"), errors, path=spec.path_of("driver"))
    _check_pool(spec.child("pool") or Fields(spec.path_of("pool"), {}), errors)
    check_reach(
        spec,
        errors,
        empty_name="must be either unset or not empty",
        also=("perDeviceNodeSelection",),
        needs_one_term=True,
    )
    if spec.has("sharedCounters") and spec.has("devices"):
        errors.invalid(spec.path, "", "only one of `sharedCounters` and `devices` may be set")
    _check_devices(spec, errors, stored=stored, rules=rules)
    check_counter_sets(spec, errors)
    _check_partition_type(spec, errors)
    check_skipped_operations(spec, errors)


def _check_pool(pool: Fields, errors: FieldErrors) -> None:
    check_pool_name(pool.text("name"), errors, path=pool.path_of("name"))
    count = pool.integer("resourceSliceCount") or 0
    if count <= 0:
        errors.invalid(pool.path_of("resourceSliceCount"), count, "must be greater than zero")
    generation = pool.integer("generation") or 0
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.invalid(pool.path_of("generation"), generation, detail)


def _check_devices(
    spec: Fields, errors: FieldErrors, *, stored: Fields | None, rules: Rules
) -> None:
    devices, path = listed(spec, "devices"), spec.path_of("devices")
    limit = DEVICES_LIMIT_WITH_EXTRAS if any(map(_has_extras, devices)) else DEVICES_LIMIT
    if is_too_many(devices, limit, errors, path=path):
        return
    before = {each.text("name"): each for each in (stored.children("devices") if stored else ())}
    for device in devices:
        check_device(
            device,
            errors,
            stored=before.get(device.text("name")),
            has_own_reach=spec.boolean("perDeviceNodeSelection") or False,
            rules=rules,
        )
    check_unique([device.text("name") for device in devices], errors, path=path)


def _has_extras(device: Fields) -> bool:
    if listed(device, "taints") or listed(device, "consumesCounters"):
        return True
    return any(attribute.has(kind) for _, attribute in device.named("attributes") for kind in LISTS)


def _check_partition_type(spec: Fields, errors: FieldErrors) -> None:
    """Check the attribute that says of which kind a partition is (1.37, alpha)."""
    name, path = spec.optional_text("partitionTypeAttribute"), "partitionTypeAttribute"
    if name is None:
        return
    where = spec.path_of(path)
    malformed = FieldErrors()
    check_fully_qualified_name(name, malformed, path=where)
    errors.found += malformed.found
    partitions = [each for each in spec.children("devices") if listed(each, "consumesCounters")]
    if not partitions:
        errors.invalid(where, name, "only for slices with devices that consume counters")
        return
    if malformed.found:
        return
    bare = name.removeprefix(f"{spec.text('driver')}/")
    for device in partitions:
        attributes = dict(device.named("attributes"))
        own_path = f"{device.path_of('attributes')}[{name}]"
        attribute = attributes.get(name, attributes.get(bare))
        if attribute is None:
            errors.required(own_path, f"`{path}` names this attribute")
        elif not attribute.has("string"):
            errors.invalid(own_path, "", f"must be a text, since `{path}` names it")
