"""Rules for counters that the devices of a pool share (KEP-4815)."""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_format,
    check_required,
    check_unique,
    is_too_many,
    listed,
)

COUNTER_SETS_LIMIT: Final = 8
COUNTERS_LIMIT: Final = 32
CONSUMED_SETS_LIMIT: Final = 2
GROUPS_LIMIT: Final = 2


def check_counter_sets(spec: Fields, errors: FieldErrors) -> None:
    """Check the counter sets that a slice publishes."""
    counter_sets, path = listed(spec, "sharedCounters"), spec.path_of("sharedCounters")
    if is_too_many(counter_sets, COUNTER_SETS_LIMIT, errors, path=path):
        return
    for counter_set in counter_sets:
        name, where = counter_set.text("name"), counter_set.path_of("name")
        check_required(name, names.dns_label, errors, path=where)
        _check_counters(counter_set, errors)
    check_unique([each.text("name") for each in counter_sets], errors, path=path)


def check_consumption(device: Fields, errors: FieldErrors) -> None:
    """Check the counters that a device draws from."""
    consumed, path = listed(device, "consumesCounters"), device.path_of("consumesCounters")
    if is_too_many(consumed, CONSUMED_SETS_LIMIT, errors, path=path):
        return
    for entry in consumed:
        name, where = entry.text("counterSet"), entry.path_of("counterSet")
        check_required(name, names.dns_label, errors, path=where)
        _check_counters(entry, errors)
        _check_groups(entry, errors)
    check_unique([each.text("counterSet") for each in consumed], errors, path=path)


def _check_counters(owner: Fields, errors: FieldErrors) -> None:
    counters, path = [name for name, _, _ in owner.entries("counters")], owner.path_of("counters")
    if not counters:
        errors.required(path)
    elif not is_too_many(counters, COUNTERS_LIMIT, errors, path=path):
        for name in counters:
            check_format(name, names.dns_label, errors, path=path)


def _check_groups(entry: Fields, errors: FieldErrors) -> None:
    """Check the groups of devices that can be in use together (1.37, alpha)."""
    groups, path = entry.texts("compatibilityGroups"), entry.path_of("compatibilityGroups")
    if is_too_many(groups, GROUPS_LIMIT, errors, path=path):
        return
    for index, group in enumerate(groups):
        check_format(group, names.dns_label, errors, path=f"{path}[{index}]")
    check_unique(groups, errors, path=path)
