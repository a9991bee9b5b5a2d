"""What makes two pods the same question: specs of claims and the classes they name.

Names and namespaces of claims appear in messages alone, so pods from one template are one
question, and what was found out for one of them holds for the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.cel.derived import derivation
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.reads import Read, Reads
from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.model import EXACT_COUNT, DeviceClass, ResourceClaim
from dra_console.allocator.search.wants import wants_of


@dataclass(frozen=True, slots=True)
class Sight:
    """What of devices and their use a pod's claims can see."""

    reads: Reads
    compares_capacity: bool
    looks_at_held_devices: bool
    """Whether devices that others hold matter, as for mode All and for admin access."""


def sight_of(claims: Sequence[ResourceClaim], *, classes: Mapping[str, DeviceClass]) -> Sight:
    """Add up what all alternatives of all requests can see."""
    wants = [want for claim in claims for want in wants_of(claim, classes=classes)]
    compiled = [
        *(
            default_engine().compile(each.expression or "")
            for want in wants
            for each in want.selectors
        ),
        *(derivation(each.expression) for want in wants for each in want.wish.derived_attributes),
    ]
    reads = [each.reads for each in compiled if not isinstance(each, CompileFault)]
    constrained = {
        name
        for claim in claims
        for constraint in claim.spec.constraints
        for name in (constraint.match_attribute, constraint.distinct_attribute)
        if name is not None
    }
    return Sight(
        reads=Reads(
            names=frozenset().union(
                *(each.names for each in reads), (_constrained(name) for name in constrained)
            ),
            is_whole_device=any(each.is_whole_device for each in reads),
        ),
        compares_capacity=any(want.wish.capacity is not None for want in wants),
        looks_at_held_devices=any(
            want.wish.admin_access or want.wish.allocation_mode != EXACT_COUNT for want in wants
        ),
    )


def _constrained(qualified_name: str) -> Read:
    domain, _, name = qualified_name.partition("/")
    return Read("attributes", domain, name)
