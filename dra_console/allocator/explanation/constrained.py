"""Which constraint keeps free devices from fitting together on a node.

Where the largest group of devices with one value is too small, the constraint is to blame
for certain. Otherwise it is the one without which a search finds devices.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.explanation.standings import Standing
from dra_console.allocator.model import DeviceConstraint, ResourceClaim
from dra_console.allocator.search.constraints import ConstraintState, members_of
from dra_console.allocator.world.pools import PublishedDevice

VALUES_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Group:
    """The free devices that a constraint covers, by value, and how many are wanted."""

    constraint: DeviceConstraint
    values: Counter[str]
    free: int
    wanted: int
    is_certain: bool
    """Whether the values are all that counts: no device can serve several of the requests, and
    none is computed by a request (DRADerivedAttributes)."""

    @property
    def is_match(self) -> bool:
        return self.constraint.match_attribute is not None

    @property
    def attribute(self) -> str:
        return self.constraint.match_attribute or self.constraint.distinct_attribute or ""

    @property
    def largest(self) -> int:
        return max(self.values.values(), default=0)

    @property
    def is_too_small(self) -> bool:
        """Whether no search is needed to know that the constraint cannot be met."""
        return self.is_match and self.is_certain and self.largest < self.wanted

    @property
    def words(self) -> str:
        """What is there, as in `the largest group with the same numa is 2`."""
        if self.is_match:
            return f"the largest group with the same {self.attribute} is {self.largest}"
        return f"they have {len(self.values)} different values of {self.attribute}"

    @property
    def listed(self) -> str:
        """The values that are there, as in `2 with 0, 1 with 1`."""
        common = self.values.most_common(VALUES_SHOWN)
        more = len(self.values) - len(common)
        words = [f"{count} with {value}" for value, count in common]
        if more:
            words.append(f"{more} more {'value' if more == 1 else 'values'}")
        return ", ".join(words) or "no values"

    @property
    def limit(self) -> str:
        """What is there in a few words, as in `at most 2 with one numa, 4 wanted`."""
        _, _, name = self.attribute.rpartition("/")
        if self.is_match:
            return f"at most {self.largest} with one {name}, {self.wanted} wanted"
        return f"{len(self.values)} different {name}, {self.wanted} wanted"

    @property
    def wish(self) -> str:
        """What the constraint asks for, as in `4 with the same numa`."""
        kind = "the same" if self.is_match else "different"
        return f"{self.wanted} with {kind} {self.attribute}"


def group_of(
    claim: ResourceClaim,
    number: int,
    *,
    requests: Sequence[Sequence[Standing]],
    devices: Sequence[PublishedDevice],
    is_free: Callable[[Standing, PublishedDevice], bool],
) -> Group:
    """Group the devices that are free for what one constraint of a claim covers."""
    constraint = claim.spec.constraints[number]
    state = ConstraintState(constraint)
    own = [request for request in requests if request[0].want.claim is claim]
    covered = [
        standing for request in own for standing in request if state.covers(standing.want.label)
    ]
    free = [
        published
        for published in devices
        if any(is_free(standing, published) for standing in covered)
    ]
    return Group(
        constraint=constraint,
        values=Counter(value for published in free for value in _values(state, published)),
        free=len(free),
        wanted=sum(_least(request, state) for request in own),
        is_certain=not any(published.is_shareable for published in free)
        and not any(state.attribute in _derived(standing) for standing in covered),
    )


def _derived(standing: Standing) -> frozenset[str]:
    return frozenset(each.name for each in standing.want.wish.derived_attributes)


def _least(request: Sequence[Standing], state: ConstraintState) -> int:
    """Count the covered devices that a request takes at least, whatever its alternative."""
    return min(standing.wanted if state.covers(standing.want.label) else 0 for standing in request)


def _values(state: ConstraintState, published: PublishedDevice) -> Iterator[str]:
    value = published.attribute(state.attribute)
    if value is not None:
        yield from sorted(str(member) for _, member in members_of(value))


def without_constraint(claim: ResourceClaim, number: int) -> ResourceClaim:
    """Copy a claim with one constraint left out."""
    constraints = claim.spec.constraints
    rest = constraints[:number] + constraints[number + 1 :]
    return replace(claim, spec=replace(claim.spec, constraints=rest))


def without_constraints(claim: ResourceClaim) -> ResourceClaim:
    """Copy a claim without any constraint."""
    return replace(claim, spec=replace(claim.spec, constraints=()))
