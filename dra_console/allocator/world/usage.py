"""What allocated claims hold: devices, shares of devices, and by whom.

Every claim with an allocation counts, reserved or not, deleting or not. Devices allocated
with admin access stay free for others. A share books part of a device's capacity; any
other result holds the device exclusively. Identity is by name: a device that vanished and
came back is still held.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Usage:
    """Holders of devices, and the amounts booked on shared ones; `Bookings` adds them up."""

    holders: Mapping[DeviceId, ResourceClaim]
    """The claim that holds the device exclusively."""

    sharers: Mapping[DeviceId, tuple[ResourceClaim, ...]]
    booked: Mapping[DeviceId, Mapping[str, Quantity]]
    """Sum of the shares' amounts by capacity; present, if empty, for every shared device."""

    def is_drawn(self, device_id: DeviceId) -> bool:
        """Tell whether the device is in use at all, so that its counters are charged."""
        return device_id in self.holders or device_id in self.booked
