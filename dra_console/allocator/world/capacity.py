"""Consumable capacity: how much of a device a request takes, and whether that is left.

KEP-5075. A request names amounts; the device's policies round them up and bound them. A
device that allows several allocations books an amount of every capacity that it has; one
that does not is used whole, and requested amounts only have to fit.

Amounts are rounded to the steps of a range in thousandths, or in whole units without the
gate DRAFractionalCapacityRange or if a bound is finer than thousandths.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from dra_console.allocator.inventory import Capacity, Device, RequestPolicy, ValidRange
from dra_console.allocator.quantity import NANO, Quantity

MILLI: Final = NANO // 1000
LARGEST_INTEGER: Final = 2**63 - 1
NOTHING: Final = Quantity(0)

Amounts: TypeAlias = Mapping[str, Quantity]
"""What is taken of a device, by capacity."""


@dataclass(frozen=True, slots=True)
class CapacityFault:
    """An amount that upstream refuses for the whole pod instead of passing the device over."""

    message: str

    def __str__(self) -> str:
        return self.message


def consumption(
    device: Device, *, requested: Amounts, is_fractional: bool = True
) -> Amounts | None:
    """Return the amount of every capacity to book, or `None` if the device cannot serve it."""
    found = checked_consumption(device, requested=requested, is_fractional=is_fractional)
    return None if isinstance(found, CapacityFault) else found


def checked_consumption(
    device: Device, *, requested: Amounts, is_fractional: bool
) -> Amounts | CapacityFault | None:
    """Return the amounts to book, `None` if the device cannot serve them, or what is broken.

    Names have to be spelled alike: there is no default domain here. `is_fractional` is the
    gate DRAFractionalCapacityRange.
    """
    if any(name not in device.capacity for name in requested):
        return None
    amounts: dict[str, Quantity] = {}
    for name, capacity in device.capacity.items():
        amount = _amount(capacity, requested.get(name), is_fractional=is_fractional)
        if isinstance(amount, CapacityFault):
            return CapacityFault(f"capacity {name}: {amount}")
        if amount.nanos < 0:
            return CapacityFault(f"capacity {name}: capacity value is negative")
        amounts[name] = amount
    for name, amount in amounts.items():
        policy = device.capacity[name].request_policy
        if policy is not None and not _permits(policy, amount, is_fractional=is_fractional):
            return None
    return amounts


def is_left(
    device: Device, *, amounts: Amounts, booked: Amounts, booked_now: Amounts | None = None
) -> bool:
    """Tell whether the amounts fit beside what others have booked, before and in this call."""
    for name, amount in amounts.items():
        taken = amount.nanos
        if name in booked:
            taken += booked[name].nanos
        if booked_now and name in booked_now:
            taken += booked_now[name].nanos
        if taken > device.capacity[name].value.nanos:
            return False
    return True


def _amount(
    capacity: Capacity, requested: Quantity | None, *, is_fractional: bool
) -> Quantity | CapacityFault:
    policy = capacity.request_policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.valid_range is not None:
        return _rounded_up(policy.valid_range, requested, is_fractional=is_fractional)
    return next((value for value in policy.valid_values if value >= requested), requested)


def _permits(policy: RequestPolicy, amount: Quantity, *, is_fractional: bool) -> bool:
    if amount == policy.default:
        return True
    if policy.valid_range is not None:
        return _is_in(policy.valid_range, amount, is_fractional=is_fractional)
    return not policy.valid_values or amount in policy.valid_values


def _rounded_up(
    valid: ValidRange, requested: Quantity, *, is_fractional: bool
) -> Quantity | CapacityFault:
    if requested < valid.minimum:
        return valid.minimum
    if not valid.step:
        return requested
    unit = _unit(valid, is_fractional=is_fractional)
    if unit == MILLI and not _is_in_milli(requested):
        return CapacityFault(f"request {requested} is not a representable milli value")
    least, step = _in(unit, valid.minimum), _in(unit, valid.step)
    steps = -(-(_in(unit, requested) - least) // step)
    amount = least + steps * step
    if amount > LARGEST_INTEGER:
        return CapacityFault(f"request {requested} cannot be rounded up within 64 bits")
    return Quantity(amount * unit, family=valid.step.family)


def _is_in(valid: ValidRange, amount: Quantity, *, is_fractional: bool) -> bool:
    if valid.maximum is not None and amount > valid.maximum:
        return False
    if not valid.step:
        return True
    unit = _unit(valid, is_fractional=is_fractional)
    if unit == MILLI and not _is_in_milli(amount):
        return False
    return (_in(unit, amount) - _in(unit, valid.minimum)) % _in(unit, valid.step) == 0


def _unit(valid: ValidRange, *, is_fractional: bool) -> int:
    """Nanos of the unit to count in."""
    bounds = (valid.minimum, valid.maximum, valid.step)
    return MILLI if is_fractional and _are_in_milli(bounds) else NANO


def _are_in_milli(bounds: Iterable[Quantity | None]) -> bool:
    return all(bound is None or _is_in_milli(bound) for bound in bounds)


def _is_in_milli(quantity: Quantity) -> bool:
    return quantity.nanos % MILLI == 0 and abs(quantity.nanos) // MILLI <= LARGEST_INTEGER


def _in(unit: int, quantity: Quantity) -> int:
    """Count units, rounded away from zero as `Quantity.Value()` does."""
    count = -(-abs(quantity.nanos) // unit)
    return -count if quantity.nanos < 0 else count
