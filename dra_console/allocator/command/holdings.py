"""What an allocated claim has, and what about it may surprise.

"My claim is allocated, but the pod does not start" is the second question of every support
channel. Its answers are in the same dump: who reserved the claim, and whether the devices
are still what they were when they were allocated.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.inventory import Device, DeviceId, ResourceSlice
from dra_console.allocator.model import DeviceResult, ResourceClaim

CONSUMERS_NAMED: Final = 8
"""A claim may have 256."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Looks allocated devices up among those that are published now."""

    published: Mapping[DeviceId, Device]

    @classmethod
    def of(cls, slices: Iterable[ResourceSlice]) -> Self:
        """Take every device of every slice; the newest generation of a pool wins."""
        return cls(
            {
                DeviceId(each.driver, each.pool, device.name): device
                for each in sorted(slices, key=lambda each: each.generation)
                for device in each.devices
            }
        )

    def lines(self, claim: ResourceClaim) -> Iterator[str]:
        """Say what the claim has and for whom; nothing for a pending claim."""
        if claim.allocation is None:
            return
        for result in claim.allocation.results:
            yield f"request {result.request}: {', '.join(self._facts(result))}"
        if not claim.allocation.results:
            yield "no device, since it asks for none"
        consumers = [
            f"{each.resource.removesuffix('s')} {each.name}" for each in claim.reserved_for
        ]
        more = len(consumers) - CONSUMERS_NAMED
        named = ", ".join(consumers[:CONSUMERS_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"reserved for {named or 'nobody, so that kube-scheduler may take it back'}"

    def _facts(self, result: DeviceResult) -> Iterator[str]:
        yield str(result.device_id)
        if result.admin_access:
            yield "with admin access"
        if result.share_id is not None:
            amounts = result.consumed_capacity or {}
            shares = " and ".join(f"{amount} of {name}" for name, amount in amounts.items())
            yield f"a share with {shares}" if shares else "a share"
        device = self.published.get(result.device_id)
        if device is None:
            yield "NOT PUBLISHED by any slice now"
            return
        for taint in device.taints:
            yield f"tainted {taint}"
