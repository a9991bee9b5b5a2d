"""Devices that only the console allocates: its plans tolerate their taint. Pure.

The toleration is put into the claim as the search sees it and taken out of the answer again.
So what is written says what kube-scheduler would write, the claim's own tolerations, of which
the API takes 16 and the console's would be one more. The taint's effect is NoSchedule, which
ends nothing once a device is allocated.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from dra_console.allocator.inventory import NO_SCHEDULE
from dra_console.allocator.model import (
    AllocationResult,
    ClaimSpec,
    DeviceRequest,
    DeviceResult,
    DeviceWish,
    ResourceClaim,
    Toleration,
)
from dra_console.scheduling.names import MANAGED_TAINT_KEY

MANAGED: Final = Toleration(MANAGED_TAINT_KEY, "Exists", "", NO_SCHEDULE)
SPECS_KEPT: Final = 2048


def tolerating_managed(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim as the console's own search sees it."""
    return replace(claim, spec=_tolerating(claim.spec))


def as_written(allocation: AllocationResult) -> AllocationResult:
    """Return an answer of that search without the console's toleration."""
    return replace(allocation, results=tuple(_without(each) for each in allocation.results))


# The same object for equal specs, by which the allocator knows a question again.
@lru_cache(maxsize=SPECS_KEPT)
def _tolerating(spec: ClaimSpec) -> ClaimSpec:
    return replace(spec, requests=tuple(_request(each) for each in spec.requests))


def _request(request: DeviceRequest) -> DeviceRequest:
    return replace(
        request,
        exactly=None if request.exactly is None else _wish(request.exactly),
        first_available=tuple(
            replace(each, wish=_wish(each.wish)) for each in request.first_available
        ),
    )


def _wish(wish: DeviceWish) -> DeviceWish:
    return replace(wish, tolerations=(*wish.tolerations, MANAGED))


def _without(result: DeviceResult) -> DeviceResult:
    # The last one is the console's; one that the user wrote himself stands before it.
    return replace(result, tolerations=result.tolerations[:-1])
