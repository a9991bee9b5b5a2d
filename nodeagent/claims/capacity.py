"""Never grant more of a shared device than it has (KEP 5075, node-agent.md 2.5).

The scheduler sums what shares consume; this is the node's own sum over what is prepared here,
because a scheduler with an old view has given the same memory away twice before.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from nodeagent.claims.entry import Entry, PlannedDevice
from nodeagent.devices.mig import BYTES_PER_MEBIBYTE, capacities
from nodeagent.devices.model import Device, Inventory
from nodeagent.quantity import value_of


def excess_of(
    planned: Iterable[PlannedDevice],
    *,
    claim_uid: str,
    driver: str,
    entries: Iterable[Entry],
    inventory: Inventory,
) -> str | None:
    """Say which capacity the prepared shares would exceed together; `None`: all fit."""
    planned = tuple(planned)
    held = [
        device
        for entry in entries
        if entry.uid != claim_uid and entry.holds_devices
        for device in entry.devices
    ]
    for name in dict.fromkeys(device.device for device in planned if _is_counted(device)):
        device = inventory.find(name)
        shares = [one for one in (*planned, *held) if one.device == name and _is_counted(one)]
        if device is not None:
            for problem in _problems(device, shares, driver=driver):
                return problem
    return None


def _problems(device: Device, shares: list[PlannedDevice], *, driver: str) -> Iterator[str]:
    available = capacity_of(device)
    for name in dict.fromkeys(name for share in shares for name in share.consumed):
        own_name = name.removeprefix(f"{driver}/")
        if own_name not in available:
            yield f"device {device.name} has no capacity {name} of which a share could consume"
            continue
        amounts = [_amount(share, name) for share in shares]
        if None in amounts:
            yield f"device {device.name}: consumedCapacity.{name} is no quantity"
            continue
        total = sum(amount for amount in amounts if amount is not None)
        if total > available[own_name]:
            yield (
                f"device {device.name}: its prepared shares would consume {float(total):.0f} of"
                f" {name}, and it has {float(available[own_name]):.0f}"
            )


def capacity_of(device: Device) -> Mapping[str, Fraction]:
    """Return what there is of each capacity that the device is published with."""
    if device.partition is None:
        return {"memory": Fraction(device.gpu.memory_bytes)}
    profile = device.partition.profile
    amounts = {**capacities(profile), "memory": profile.memory_mebibytes * BYTES_PER_MEBIBYTE}
    return {name: Fraction(amount) for name, amount in amounts.items()}


def _is_counted(device: PlannedDevice) -> bool:
    return bool(device.consumed) and not device.admin_access


def _amount(share: PlannedDevice, name: str) -> Fraction | None:
    written = share.consumed.get(name)
    return Fraction(0) if written is None else value_of(written)
