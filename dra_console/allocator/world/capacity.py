"""Consumable capacity: how much of a device a request takes, and whether that is left.

KEP-5075. A request names amounts; the device's policies round them up and bound them. A
device that allows several allocations books an amount of every capacity that it has; one
that does not is used whole, and requested amounts only have to fit.
"""

from collections.abc import Mapping

from dra_console.allocator.inventory import Capacity, Device, RequestPolicy, ValidRange
from dra_console.allocator.quantity import NANO, Quantity

NOTHING = Quantity(0)


def consumption(
    device: Device, *, requested: Mapping[str, Quantity]
) -> Mapping[str, Quantity] | None:
    """Return the amount of every capacity to book, or `None` if the device cannot serve it.

    Names have to be spelled alike: there is no default domain here.
    """
    if any(name not in device.capacity for name in requested):
        return None
    amounts: dict[str, Quantity] = {}
    for name, capacity in device.capacity.items():
        amount = _amount(capacity, requested.get(name))
        if amount is None:
            return None
        amounts[name] = amount
    return amounts


def is_left(
    device: Device, *, amounts: Mapping[str, Quantity], booked: Mapping[str, Quantity]
) -> bool:
    """Tell whether the amounts fit beside what others have booked."""
    return all(
        booked.get(name, NOTHING) + amount <= device.capacity[name].value
        for name, amount in amounts.items()
    )


def _amount(capacity: Capacity, requested: Quantity | None) -> Quantity | None:
    policy = capacity.request_policy
    if policy is None:
        return capacity.value if requested is None else requested
    if requested is None:
        return capacity.value if policy.default is None else policy.default
    return _within_policy(policy, requested)


def _within_policy(policy: RequestPolicy, requested: Quantity) -> Quantity | None:
    if policy.valid_range is not None:
        amount = _rounded_up(policy.valid_range, requested)
        is_valid = amount == policy.default or _is_in(policy.valid_range, amount)
        return amount if is_valid else None
    if policy.valid_values:
        larger = [value for value in policy.valid_values if value >= requested]
        amount = min(larger, default=requested)
        return amount if amount == policy.default or amount in policy.valid_values else None
    return requested


def _rounded_up(valid: ValidRange, requested: Quantity) -> Quantity:
    if requested < valid.minimum:
        return valid.minimum
    if not valid.step:
        return requested
    unit = _unit(valid)
    step = _in(unit, valid.step)
    above = _in(unit, requested) - _in(unit, valid.minimum)
    steps = -(-above // step)
    return Quantity((_in(unit, valid.minimum) + steps * step) * unit, family=requested.family)


def _is_in(valid: ValidRange, amount: Quantity) -> bool:
    if valid.maximum is not None and amount > valid.maximum:
        return False
    if not valid.step:
        return True
    unit = _unit(valid)
    above = _in(unit, amount) - _in(unit, valid.minimum)
    return above % _in(unit, valid.step) == 0


def _unit(valid: ValidRange) -> int:
    """Nanos of the unit to count in: thousandths if the range has fractions, else wholes."""
    bounds = (valid.minimum, valid.maximum, valid.step)
    is_fractional = any(bound is not None and not bound.is_whole for bound in bounds)
    return NANO // 1000 if is_fractional else NANO


def _in(unit: int, quantity: Quantity) -> int:
    return -(-quantity.nanos // unit)
