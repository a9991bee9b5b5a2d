"""Rules for capacities, and for the policies by which they are consumed in part (KEP-5075)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.quantity import MAX_NANOS, NANO, Quantity
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_qualified_name, is_too_many

VALID_VALUES_LIMIT: Final = 10
MILLI: Final = NANO // 1000
ZERO: Final = Quantity(0)


def check_capacities(device: Fields, errors: FieldErrors, *, rules: Rules) -> None:
    """Check the capacities of a device by name."""
    is_shared = device.boolean("allowMultipleAllocations") or False
    for name, capacity in device.named("capacity"):
        check_qualified_name(name, errors, path=device.path_of("capacity"))
        policy = capacity.child("requestPolicy")
        if policy is None:
            continue
        if not is_shared:
            errors.forbidden(policy.path, "only allowed on devices with `allowMultipleAllocations`")
            continue
        _check_policy(policy, errors, total=capacity.quantity("value") or ZERO, rules=rules)


def _check_policy(policy: Fields, errors: FieldErrors, *, total: Quantity, rules: Rules) -> None:
    values = policy.quantities("validValues")
    valid_range, default = policy.child("validRange"), policy.quantity("default")
    if values and valid_range is not None:
        errors.forbidden(policy.path, "only one of `validValues` and `validRange` may be set")
    elif not values and valid_range is None:
        return
    elif default is None:
        which = "validValues" if values else "validRange"
        errors.required(policy.path_of("default"), f"required when `{which}` is set")
    elif valid_range is None:
        path = policy.path_of("validValues")
        _check_values(values, default, errors, path=path, total=total, rules=rules)
    else:
        _check_range(valid_range, default, errors, total=total, rules=rules)


def _check_values(  # noqa: PLR0913  a rule of five parts, told where
    values: Sequence[Quantity],
    default: Quantity,
    errors: FieldErrors,
    *,
    path: str,
    total: Quantity,
    rules: Rules,
) -> None:
    for index, (left, right) in enumerate(pairwise(values), start=1):
        if left > right:
            errors.invalid(f"{path}[{index}]", str(right), "must be in ascending order")
    if is_too_many(values, VALID_VALUES_LIMIT, errors, path=path):
        # Nobody has looked for the default then.
        errors.invalid(path, str(default), "the default must be one of the valid values")
        return
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value > total:
            errors.invalid(f"{path}[{index}]", str(value), f"must not exceed capacity {total}")
        is_exact = rules.has(Feature.FRACTIONAL_CAPACITY_RANGE)
        key = value.nanos if is_exact else value.units_rounded_up
        if key in seen:
            errors.duplicate(f"{path}[{index}]", str(value))
        seen.add(key)
    if default not in values:
        errors.invalid(path, str(default), "the default must be one of the valid values")


def _check_range(
    valid: Fields, default: Quantity, errors: FieldErrors, *, total: Quantity, rules: Rules
) -> None:
    minimum, maximum, step = (valid.quantity(field) for field in ("min", "max", "step"))
    if minimum is None:
        errors.required(valid.path_of("min"), "required when `validRange` is set")
        return
    if minimum > total:
        errors.invalid(valid.path_of("min"), str(minimum), f"must not exceed capacity {total}")
    if default < minimum:
        errors.invalid(valid.path_of("default"), str(default), f"must be at least {minimum}")
    if maximum is not None:
        if minimum > maximum:
            errors.invalid(valid.path_of("max"), str(maximum), f"must be at least {minimum}")
        if maximum > total:
            errors.invalid(valid.path_of("max"), str(maximum), f"must not exceed capacity {total}")
        if default > maximum:
            errors.invalid(valid.path_of("default"), str(default), f"must be at most {maximum}")
    amounts = {"default": default, "min": minimum, "max": maximum, "step": step}
    given = {field: amount for field, amount in amounts.items() if amount is not None}
    is_fractional = rules.has(Feature.FRACTIONAL_CAPACITY_RANGE) and any(
        not amount.is_whole for amount in given.values()
    )
    if is_fractional and not _are_thousandths(given, valid, errors):
        return
    if step is not None:
        _check_step(valid, given, errors, total=total, unit=MILLI if is_fractional else NANO)


def _are_thousandths(given: Mapping[str, Quantity], valid: Fields, errors: FieldErrors) -> bool:
    outside = {
        field: amount
        for field, amount in given.items()
        if amount.nanos % MILLI or abs(amount.nanos) > MAX_NANOS // 1000
    }
    for field, amount in outside.items():
        detail = "must be a whole number of thousandths, in the range of an int64"
        errors.invalid(valid.path_of(field), str(amount), detail)
    return not outside


def _check_step(
    valid: Fields,
    given: Mapping[str, Quantity],
    errors: FieldErrors,
    *,
    total: Quantity,
    unit: int,
) -> None:
    """Check that default and maximum lie on the grid of `min` and `step`, in whole units."""
    minimum, step, path = given["min"], given["step"], valid.path_of("step")
    if step.nanos <= 0:
        errors.invalid(path, str(step), "must be greater than zero")
        return
    if minimum + step > total:
        errors.invalid(path, str(step), f"`min` and one step must not exceed capacity {total}")
    if unit == NANO:
        outside = {
            field: amount for field, amount in given.items() if not 0 <= amount.nanos <= MAX_NANOS
        }
        for field, amount in outside.items():
            errors.invalid(valid.path_of(field), str(amount), "must be in the range of an int64")
        if outside:
            return
    grid = _units(step, unit)
    for field in ("default", "max"):
        bound = given.get(field, minimum)
        if (_units(bound, unit) - _units(minimum, unit)) % grid:
            detail = f"{field} {bound} must be {minimum} and a multiple of {step}"
            errors.invalid(path, str(bound), detail)


def _units(amount: Quantity, unit: int) -> int:
    return -(-amount.nanos // unit)
