"""Rules for ResourceSlices, as the API server checks them one slice at a time."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.inventory import (
    AttributeKind,
    AttributeValue,
    CounterSet,
    Device,
    NodeReach,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.validation.capacity_rules import check_capacity
from dra_console.allocator.validation.claim_rules import EFFECTS
from dra_console.allocator.validation.field_errors import FieldErrors

DEVICES_LIMIT: Final = 128
DEVICES_LIMIT_WITH_EXTRAS: Final = 64
"""If any device has taints, consumes counters, or has a list-valued attribute."""

ATTRIBUTES_AND_CAPACITIES_LIMIT: Final = 32
ATTRIBUTE_VALUES_LIMIT: Final = 48
TAINTS_LIMIT: Final = 16
COUNTER_SETS_LIMIT: Final = 8
COUNTERS_LIMIT: Final = 32
CONSUMED_SETS_LIMIT: Final = 2
BINDING_CONDITIONS_LIMIT: Final = 4
REACH: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
VERSION_KINDS: Final = frozenset({AttributeKind.VERSION, AttributeKind.VERSIONS})


def check_slice(slice_: ResourceSlice, errors: FieldErrors) -> None:
    """Check the spec of a slice."""
    _check_pool(slice_, errors)
    ways = _ways(slice_.reach) + slice_.per_device_node_selection
    if ways == 0:
        errors.required("spec", REACH)
    elif ways > 1:
        errors.invalid("spec", slice_.name, REACH)
    if slice_.devices and slice_.shared_counters:
        errors.invalid("spec", slice_.name, "only one of `devices` and `sharedCounters` may be set")
    _check_counter_sets(slice_.shared_counters, errors)
    limit = DEVICES_LIMIT_WITH_EXTRAS if any(map(_has_extras, slice_.devices)) else DEVICES_LIMIT
    if len(slice_.devices) > limit:
        errors.too_many("spec.devices", len(slice_.devices), limit)
        return
    seen: set[str] = set()
    for index, device in enumerate(slice_.devices):
        path = f"spec.devices[{index}]"
        if device.name in seen:
            errors.duplicate(path, device.name)
        seen.add(device.name)
        _check_device(device, errors, path=path)
        _check_device_reach(slice_, device, errors, path=path)


def _check_pool(slice_: ResourceSlice, errors: FieldErrors) -> None:
    if not slice_.driver:
        errors.required("spec.driver")
    for detail in names.driver_name(slice_.driver) if slice_.driver else ():
        errors.invalid("spec.driver", slice_.driver, detail)
    if not slice_.pool:
        errors.required("spec.pool.name")
    for detail in names.pool_name(slice_.pool) if slice_.pool else ():
        errors.invalid("spec.pool.name", slice_.pool, detail)
    if slice_.generation < 0:
        errors.invalid(
            "spec.pool.generation", slice_.generation, "must be greater than or equal to zero"
        )
    if slice_.resource_slice_count <= 0:
        errors.invalid(
            "spec.pool.resourceSliceCount",
            slice_.resource_slice_count,
            "must be greater than zero",
        )


def _ways(reach: NodeReach) -> int:
    return sum((reach.node_name is not None, reach.node_selector is not None, reach.all_nodes))


def _has_extras(device: Device) -> bool:
    has_list = any(isinstance(each.value, tuple) for each in device.attributes.values())
    return bool(device.taints or device.consumes_counters) or has_list


def _check_counter_sets(counter_sets: Sequence[CounterSet], errors: FieldErrors) -> None:
    path = "spec.sharedCounters"
    if len(counter_sets) > COUNTER_SETS_LIMIT:
        errors.too_many(path, len(counter_sets), COUNTER_SETS_LIMIT)
        return
    seen: set[str] = set()
    for index, counter_set in enumerate(counter_sets):
        where = f"{path}[{index}]"
        _check_label(counter_set.name, errors, path=f"{where}.name")
        if counter_set.name in seen:
            errors.duplicate(f"{where}.name", counter_set.name)
        seen.add(counter_set.name)
        _check_counters(counter_set.counters, errors, path=f"{where}.counters")


def _check_counters(counters: Mapping[str, Quantity], errors: FieldErrors, *, path: str) -> None:
    if not counters:
        errors.required(path)
    if len(counters) > COUNTERS_LIMIT:
        errors.too_many(path, len(counters), COUNTERS_LIMIT)
        return
    for name in counters:
        _check_label(name, errors, path=f"{path}[{name}]")


def _check_device(device: Device, errors: FieldErrors, *, path: str) -> None:
    _check_label(device.name, errors, path=f"{path}.name")
    entries = len(device.attributes) + len(device.capacity)
    if entries > ATTRIBUTES_AND_CAPACITIES_LIMIT:
        what = "attributes and capacities"
        errors.too_many(path, entries, ATTRIBUTES_AND_CAPACITIES_LIMIT, what)
    values = sum(map(_value_count, device.attributes.values()))
    if values > ATTRIBUTE_VALUES_LIMIT:
        errors.too_many(f"{path}.attributes", values, ATTRIBUTE_VALUES_LIMIT, "attribute values")
    for name, attribute in device.attributes.items():
        _check_attribute(name, attribute, errors, path=f"{path}.attributes[{name}]")
    for name, capacity in device.capacity.items():
        where = f"{path}.capacity[{name}]"
        for detail in names.qualified_name(name):
            errors.invalid(where, name, detail)
        check_capacity(capacity, errors, path=where, device=device)
    _check_consumption(device.consumes_counters, errors, path=f"{path}.consumesCounters")
    if len(device.taints) > TAINTS_LIMIT:
        errors.too_many(f"{path}.taints", len(device.taints), TAINTS_LIMIT)
    else:
        for index, taint in enumerate(device.taints):
            check_taint(taint, errors, path=f"{path}.taints[{index}]")
    _check_binding(device, errors, path=path)


def _check_device_reach(
    slice_: ResourceSlice, device: Device, errors: FieldErrors, *, path: str
) -> None:
    ways = _ways(device.reach) if device.reach is not None else 0
    if not slice_.per_device_node_selection:
        if ways:
            detail = "node selection may only be set if the slice has `perDeviceNodeSelection`"
            errors.invalid(path, device.name, detail)
    elif ways != 1:
        detail = "exactly one of `nodeName`, `nodeSelector`, `allNodes` is required"
        errors.required(path, detail)


def _value_count(attribute: AttributeValue) -> int:
    return len(attribute.value) if isinstance(attribute.value, tuple) else 1


def _check_attribute(
    name: str, attribute: AttributeValue, errors: FieldErrors, *, path: str
) -> None:
    for detail in names.qualified_name(name):
        errors.invalid(path, name, detail)
    if attribute.kind is AttributeKind.UNKNOWN:
        errors.required(path, "exactly one value must be specified")
        return
    where = f"{path}.{attribute.kind}"
    values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
    if not values:
        errors.required(where)
    for value in values:
        if isinstance(value, str) and len(value.encode()) > names.VALUE_LIMIT:
            errors.too_long(where, names.VALUE_LIMIT)
        elif attribute.kind in VERSION_KINDS:
            for detail in names.semantic_version(str(value)):
                errors.invalid(where, str(value), detail)


def _check_consumption(consumed: Sequence[CounterSet], errors: FieldErrors, *, path: str) -> None:
    if len(consumed) > CONSUMED_SETS_LIMIT:
        errors.too_many(path, len(consumed), CONSUMED_SETS_LIMIT)
        return
    seen: set[str] = set()
    for index, counter_set in enumerate(consumed):
        where = f"{path}[{index}]"
        if not counter_set.name:
            errors.required(f"{where}.counterSet")
        if counter_set.name in seen:
            errors.duplicate(f"{where}.counterSet", counter_set.name)
        seen.add(counter_set.name)
        _check_counters(counter_set.counters, errors, path=f"{where}.counters")


def check_taint(taint: Taint, errors: FieldErrors, *, path: str) -> None:
    """Check a taint, which stands in devices and in DeviceTaintRules."""
    if not taint.key:
        errors.required(f"{path}.key")
    for detail in names.label_key(taint.key) if taint.key else ():
        errors.invalid(f"{path}.key", taint.key, detail)
    for detail in names.label_value(taint.value):
        errors.invalid(f"{path}.value", taint.value, detail)
    if not taint.effect:
        errors.required(f"{path}.effect")
    elif taint.effect not in EFFECTS:
        errors.not_supported(f"{path}.effect", taint.effect, EFFECTS)


def _check_binding(device: Device, errors: FieldErrors, *, path: str) -> None:
    conditions = {
        "bindingConditions": device.binding_conditions,
        "bindingFailureConditions": device.binding_failure_conditions,
    }
    seen: set[str] = set()
    for field, entries in conditions.items():
        where = f"{path}.{field}"
        if len(entries) > BINDING_CONDITIONS_LIMIT:
            errors.too_many(where, len(entries), BINDING_CONDITIONS_LIMIT)
            return
        for index, entry in enumerate(entries):
            for detail in names.label_key(entry):
                errors.invalid(f"{where}[{index}]", entry, detail)
            if entry in seen:
                errors.duplicate(f"{where}[{index}]", entry)
            seen.add(entry)
    if bool(device.binding_conditions) != bool(device.binding_failure_conditions):
        errors.required(path, "bindingConditions and bindingFailureConditions go together")


def _check_label(name: str, errors: FieldErrors, *, path: str) -> None:
    if not name:
        errors.required(path)
        return
    for detail in names.dns_label(name):
        errors.invalid(path, name, detail)
