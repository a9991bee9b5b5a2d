"""Rules for one device of a slice."""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.attribute_rules import check_attributes
from dra_console.allocator.validation.capacity_rules import check_capacities
from dra_console.allocator.validation.counter_rules import check_consumption
from dra_console.allocator.validation.equality import is_equal
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format, is_too_many, listed
from dra_console.allocator.validation.node_allocatable_rules import check_node_allocatable
from dra_console.allocator.validation.reach_rules import WAYS, check_reach
from dra_console.allocator.validation.slice_shapes import DEVICE
from dra_console.allocator.validation.taint_rules import (
    check_binding_conditions,
    check_effect,
    check_taint,
)

TAINTS_LIMIT: Final = 16


def check_device(
    device: Fields,
    errors: FieldErrors,
    *,
    stored: Fields | None,
    has_own_reach: bool,
    rules: Rules,
) -> None:
    """Check a device. Taints and capacities that are `stored` so already are left alone."""
    check_format(device.text("name"), names.dns_label, errors, path=device.path_of("name"))
    check_attributes(device, errors)
    if not _is_unchanged(device, stored, "capacity"):
        check_capacities(device, errors, rules=rules)
    taints = listed(device, "taints")
    if not _is_unchanged(device, stored, "taints"):
        if is_too_many(taints, TAINTS_LIMIT, errors, path=device.path_of("taints")):
            for taint in taints:
                check_effect(taint, errors)
        else:
            for taint in taints:
                check_taint(taint, errors)
    check_consumption(device, errors)
    if has_own_reach:
        check_reach(device, errors, empty_name="must not be empty")
    elif any(device.has(field) for field in WAYS):
        detail = "node selection may only be set if the slice has `perDeviceNodeSelection`"
        errors.invalid(device.path, device.text("name"), detail)
    check_binding_conditions(device, errors)
    check_node_allocatable(device, errors)


def _is_unchanged(device: Fields, stored: Fields | None, field: str) -> bool:
    if stored is None:
        return False
    return is_equal(device.raw.get(field), stored.raw.get(field), DEVICE[field])
