"""What allocated claims hold: devices, shares of devices, and by whom.

Every claim with an allocation counts, reserved or not, deleting or not. Devices allocated
with admin access stay free for others. A share books part of a device's capacity; any
other result holds the device exclusively. Identity is by name: a device that vanished and
came back is still held.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules


@dataclass(frozen=True, slots=True)
class Usage:
    """Holders of devices, and the amounts booked on shared ones."""

    holders: Mapping[DeviceId, ResourceClaim]
    """The claim that holds the device exclusively."""

    sharers: Mapping[DeviceId, tuple[ResourceClaim, ...]]
    booked: Mapping[DeviceId, Mapping[str, Quantity]]
    """Sum of the shares' amounts by capacity; present, if empty, for every shared device."""

    def is_drawn(self, device_id: DeviceId) -> bool:
        """Tell whether the device is in use at all, so that its counters are charged."""
        return device_id in self.holders or device_id in self.booked


def usage_of(claims: Iterable[ResourceClaim], *, rules: Rules = DEFAULT_RULES) -> Usage:
    """Add up what the allocated ones among the claims hold.

    Without the gate DRAConsumableCapacity a share holds the whole device.
    """
    has_shares = rules.has(Feature.CONSUMABLE_CAPACITY)
    holders: dict[DeviceId, ResourceClaim] = {}
    sharers: dict[DeviceId, tuple[ResourceClaim, ...]] = {}
    booked: dict[DeviceId, dict[str, Quantity]] = {}
    for claim in claims:
        for result in claim.allocation.results if claim.allocation else ():
            if result.admin_access:
                continue
            if result.share_id is None or not has_shares:
                holders.setdefault(result.device_id, claim)
                continue
            sharers[result.device_id] = (*sharers.get(result.device_id, ()), claim)
            amounts = booked.setdefault(result.device_id, {})
            for name, amount in (result.consumed_capacity or {}).items():
                known = amounts.get(name)
                amounts[name] = amount if known is None else known + amount
    return Usage(holders, sharers, booked)
