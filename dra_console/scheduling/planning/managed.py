"""Devices that only the console allocates: its plans tolerate their taint. Pure.

Where there are such devices, plans take no others: those are kube-scheduler's, and no API server
notices when two schedulers give one device away. Admin access takes nothing from anybody, and
goes to all of them.

The toleration is put into the claim as the search sees it and taken out of the answer again.
So what is written says what kube-scheduler would write, the claim's own tolerations, of which
the API takes 16 and the console's would be one more. The taint's effect is NoSchedule, which
ends nothing once a device is allocated.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from dra_console.allocator.inventory import NO_SCHEDULE, DeviceTaintRule
from dra_console.allocator.model import (
    AllocationResult,
    ClaimSpec,
    DeviceRequest,
    DeviceResult,
    DeviceWish,
    ResourceClaim,
    Toleration,
)
from dra_console.allocator.world.taints import ONLY
from dra_console.scheduling.names import MANAGED_TAINT_KEY

MANAGED: Final = Toleration(MANAGED_TAINT_KEY, "Exists", "", NO_SCHEDULE)
ONLY_MANAGED: Final = Toleration(MANAGED_TAINT_KEY, ONLY, "", NO_SCHEDULE)
SPECS_KEPT: Final = 2048


def has_managed(rules: Iterable[DeviceTaintRule]) -> bool:
    """Tell whether any devices of a cluster are kept for the console."""
    return any(rule.taint.key == MANAGED_TAINT_KEY for rule in rules)


def tolerating_managed(claim: ResourceClaim, *, only: bool) -> ResourceClaim:
    """Return the claim as the console's own search sees it; `only`: it takes no other devices."""
    return replace(claim, spec=_tolerating(claim.spec, only=only))


def as_written(allocation: AllocationResult) -> AllocationResult:
    """Return an answer of that search without the console's toleration."""
    return replace(allocation, results=tuple(_without(each) for each in allocation.results))


# The same object for equal specs, by which the allocator knows a question again.
@lru_cache(maxsize=SPECS_KEPT)
def _tolerating(spec: ClaimSpec, *, only: bool) -> ClaimSpec:
    return replace(spec, requests=tuple(_request(each, only=only) for each in spec.requests))


def _request(request: DeviceRequest, *, only: bool) -> DeviceRequest:
    return replace(
        request,
        exactly=None if request.exactly is None else _wish(request.exactly, only=only),
        first_available=tuple(
            replace(each, wish=_wish(each.wish, only=only)) for each in request.first_available
        ),
    )


def _wish(wish: DeviceWish, *, only: bool) -> DeviceWish:
    own = ONLY_MANAGED if only and not wish.admin_access else MANAGED
    return replace(wish, tolerations=(*wish.tolerations, own))


def _without(result: DeviceResult) -> DeviceResult:
    # The last one is the console's; one that the user wrote himself stands before it.
    return replace(result, tolerations=result.tolerations[:-1])
