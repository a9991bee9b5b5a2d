"""Rules for the request policies of consumable capacity (KEP-5075)."""

from itertools import pairwise
from typing import Final

from dra_console.allocator.inventory import Capacity, Device, RequestPolicy, ValidRange
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.validation.field_errors import FieldErrors

VALID_VALUES_LIMIT: Final = 10


def check_capacity(capacity: Capacity, errors: FieldErrors, *, path: str, device: Device) -> None:
    """Check one capacity of a device."""
    policy = capacity.request_policy
    if policy is None:
        return
    where = f"{path}.requestPolicy"
    if not device.allow_multiple_allocations:
        errors.forbidden(where, "only allowed on devices with `allowMultipleAllocations`")
    if policy.valid_range is not None and policy.valid_values:
        errors.forbidden(where, "only one of `validValues` and `validRange` may be set")
    elif policy.valid_range is not None:
        _check_range(policy, policy.valid_range, capacity.value, errors, path=where)
    elif policy.valid_values:
        _check_values(policy, capacity.value, errors, path=where)


def _check_values(
    policy: RequestPolicy, total: Quantity, errors: FieldErrors, *, path: str
) -> None:
    values = policy.valid_values
    where = f"{path}.validValues"
    if len(values) > VALID_VALUES_LIMIT:
        errors.too_many(where, len(values), VALID_VALUES_LIMIT)
        return
    if any(left >= right for left, right in pairwise(values)):
        errors.invalid(where, [str(each) for each in values], "must be ascending and unique")
    for index, value in enumerate(values):
        if value > total:
            errors.invalid(f"{where}[{index}]", str(value), f"must not exceed capacity {total}")
    if policy.default is None:
        errors.required(f"{path}.default", "required when `validValues` is set")
    elif policy.default not in values:
        errors.invalid(f"{path}.default", str(policy.default), "must be one of `validValues`")


def _check_range(
    policy: RequestPolicy,
    valid: ValidRange,
    total: Quantity,
    errors: FieldErrors,
    *,
    path: str,
) -> None:
    default, where = policy.default, f"{path}.validRange"
    if valid.minimum > total:
        errors.invalid(f"{where}.min", str(valid.minimum), f"must not exceed capacity {total}")
    if valid.maximum is not None and not valid.minimum <= valid.maximum <= total:
        detail = f"must be between `min` and capacity {total}"
        errors.invalid(f"{where}.max", str(valid.maximum), detail)
    if default is None:
        errors.required(f"{path}.default", "required when `validRange` is set")
    elif default < valid.minimum or (valid.maximum is not None and default > valid.maximum):
        errors.invalid(f"{path}.default", str(default), "must be inside `validRange`")
    if valid.step is None:
        return
    if valid.step.nanos <= 0 or valid.minimum + valid.step > total:
        detail = f"must be positive, and `min` plus `step` within capacity {total}"
        errors.invalid(f"{where}.step", str(valid.step), detail)
        return
    for field, bound in (("default", default), ("validRange.max", valid.maximum)):
        if bound is not None and (bound - valid.minimum).nanos % valid.step.nanos:
            detail = "must be `min` plus a multiple of `step`"
            errors.invalid(f"{path}.{field}", str(bound), detail)
