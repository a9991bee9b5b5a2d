"""Rules for node resources (CPU, memory) that a device takes along (KEP-5517, 1.37, alpha)."""

from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors

NODE_RESOURCES: Final = ("cpu", "memory")
HUGE_PAGES: Final = "hugepages-"


def check_node_allocatable(device: Fields, errors: FieldErrors) -> None:
    """Check the resources of a device by name."""
    capacities = {name for name, _, _ in device.entries("capacity")}
    for name, resource in device.named("nodeAllocatableResources"):
        path = resource.path
        if name not in NODE_RESOURCES and not name.startswith(HUGE_PAGES):
            errors.invalid(path, name, "must be a resource that nodes have, such as memory")
        mapping, overhead = resource.child("mapping"), resource.child("overhead")
        if mapping is None and overhead is None:
            errors.required(path, "at least one of `mapping` and `overhead` must be set")
        if mapping is not None:
            _check_mapping(mapping, errors, capacities=capacities)
        if overhead is not None:
            _check_overhead(overhead, errors)


def _check_mapping(mapping: Fields, errors: FieldErrors, *, capacities: set[str]) -> None:
    key, path = mapping.optional_text("capacityKey"), mapping.path_of("capacityKey")
    by_capacity, by_device = "capacityMultiplier", "deviceMultiplier"
    if key is not None:
        if not key:
            errors.invalid(path, "", "must not be empty")
        elif key not in capacities:
            errors.not_found(path, key)
        if not mapping.has(by_capacity):
            errors.required(mapping.path_of(by_capacity), "required with `capacityKey`")
    elif mapping.has(by_capacity):
        errors.required(path, f"required with `{by_capacity}`")
    if key is not None and mapping.has(by_device):
        detail = f"only one of `capacityKey` and `{by_device}` may be set"
        errors.invalid(mapping.path, f"{key}, {by_device}", detail)
    elif key is None and not mapping.has(by_device):
        detail = f"one of `capacityKey` and `{by_device}` must be set"
        errors.invalid(mapping.path, "", detail)
    for field in (by_capacity, by_device):
        amount = mapping.quantity(field)
        if amount is not None and amount.nanos <= 0 and (key is not None or field == by_device):
            errors.invalid(mapping.path_of(field), str(amount), "must be positive")


def _check_overhead(overhead: Fields, errors: FieldErrors) -> None:
    fields = ("perPod", "perContainer")
    if not any(overhead.has(field) for field in fields):
        errors.invalid(overhead.path, "", "at least one of `perPod` and `perContainer` must be set")
    for field in fields:
        amount = overhead.quantity(field)
        if amount is not None and amount.nanos < 0:
            errors.invalid(overhead.path_of(field), str(amount), "must not be negative")
