"""Parts of what a pod asks for, each with one device more than the one before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dra_console.allocator.model import EXACT_COUNT, DeviceRequest, ResourceClaim


@dataclass(frozen=True, slots=True)
class Unit:
    """One device of a request for a number of them, or a request that is served as a whole."""

    claim: int
    request: int
    count: int | None
    """How many devices the request has with this one; `None` for all that it asks for."""


def units_of(claims: Sequence[ResourceClaim]) -> tuple[Unit, ...]:
    """List what is asked for in the order of the search."""
    return tuple(
        Unit(number, index, count)
        for number, claim in enumerate(claims)
        for index, request in enumerate(claim.spec.requests)
        for count in _counts(request)
    )


def up_to(claims: Sequence[ResourceClaim], last: Unit) -> tuple[ResourceClaim, ...]:
    """Leave out what comes after a unit; constraints stay, on what is left."""
    claim = claims[last.claim]
    requests = claim.spec.requests
    request = requests[last.request]
    if request.exactly is not None and last.count is not None:
        request = replace(request, exactly=replace(request.exactly, count=last.count))
    spec = replace(claim.spec, requests=(*requests[: last.request], request))
    return (*claims[: last.claim], replace(claim, spec=spec))


def _counts(request: DeviceRequest) -> Sequence[int | None]:
    wish = request.exactly
    if wish is None or request.first_available or wish.allocation_mode != EXACT_COUNT:
        return (None,)
    return range(1, wish.count + 1)
