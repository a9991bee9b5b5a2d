"""Constraints over the devices of one claim, kept up while a search tries devices.

`add` and `remove` come in strict last-in-first-out order. A covered device without the
attribute is never acceptable, not even alone. Values of different kinds differ; versions
are compared by their spelling, build metadata included.

With the gate DRAListTypeAttributes every value is a set: a match needs one value that all
devices have, distinct devices have none in common. Without it a list can be the value of the
first covered device only.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.facts import DeviceFacts
from dra_console.allocator.inventory import AttributeKind, AttributeValue, Scalar
from dra_console.allocator.model import DeviceConstraint
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules

Members: TypeAlias = frozenset[tuple[AttributeKind, Scalar]]
"""A value as a set; the kind is part of each member, since kinds never mix."""

SCALAR_OF: Final = MappingProxyType(
    {
        AttributeKind.INTS: AttributeKind.INT,
        AttributeKind.BOOLS: AttributeKind.BOOL,
        AttributeKind.STRINGS: AttributeKind.STRING,
        AttributeKind.VERSIONS: AttributeKind.VERSION,
    }
)


def members_of(value: AttributeValue) -> Members:
    """Take a value as a set; an unknown value and an empty list have no members."""
    if isinstance(value.value, tuple):
        kind = SCALAR_OF[value.kind]
        return frozenset((kind, each) for each in value.value)
    if value.value is None:
        return frozenset()
    return frozenset(((value.kind, value.value),))


@dataclass(slots=True)
class ConstraintState:
    """One constraint and the values of the devices that it covers so far.

    If both attributes are set, which the API documents as invalid but stores, only
    `matchAttribute` counts here (see the quirk `match_hides_distinct`).
    """

    constraint: DeviceConstraint
    has_lists: bool = False
    values: list[AttributeValue] = field(default_factory=list)
    common: list[Members] = field(default_factory=list)
    """With lists: after each device, what all so far have in common, or the device's own."""

    @property
    def is_match(self) -> bool:
        return self.constraint.match_attribute is not None

    @property
    def attribute(self) -> str:
        return self.constraint.match_attribute or self.constraint.distinct_attribute or ""

    def covers(self, request: str) -> bool:
        """Tell whether a pick for `request` or `request/subrequest` is covered."""
        named = self.constraint.requests
        return not named or request in named or request.partition("/")[0] in named

    def accepts(self, value: AttributeValue | None) -> bool:
        """Tell whether one more covered device with this value may be picked."""
        if value is None:
            return False
        return self._accepts_set(value) if self.has_lists else self._accepts_scalar(value)

    def _accepts_scalar(self, value: AttributeValue) -> bool:
        if not self.values:
            return True
        if value.value is None or isinstance(value.value, tuple):
            return False
        return value == self.values[0] if self.is_match else value not in self.values

    def _accepts_set(self, value: AttributeValue) -> bool:
        members = members_of(value)
        if not members:
            return False
        if self.is_match:
            return not self.common or not self.common[-1].isdisjoint(members)
        return all(members.isdisjoint(other) for other in self.common)

    def push(self, value: AttributeValue) -> None:
        """Remember the value of a device that was picked."""
        self.values.append(value)
        if self.has_lists:
            members = members_of(value)
            narrows = self.is_match and self.common
            self.common.append(self.common[-1] & members if narrows else members)

    def pop(self) -> None:
        """Forget the value of the device that was picked last."""
        self.values.pop()
        if self.has_lists:
            self.common.pop()

    def describe(self) -> str:
        """Say what the constraint asks for, in the API's words."""
        kind = "matchAttribute" if self.is_match else "distinctAttribute"
        return f"{kind} {self.attribute}"


@dataclass(slots=True)
class ConstraintStates:
    """All constraints of one claim."""

    states: tuple[ConstraintState, ...]

    def covering(self, request: str) -> tuple[ConstraintState, ...]:
        """List the constraints that cover a pick for `request` or `request/subrequest`."""
        return tuple(state for state in self.states if state.covers(request))

    def add(self, facts: DeviceFacts, *, request: str) -> ConstraintState | None:
        """Add a picked device, or change nothing and return the first constraint against it."""
        return add_to(self.covering(request), lambda state: facts.attribute(state.attribute))

    def remove(self, *, request: str) -> None:
        """Undo the latest `add`, which was for the same request."""
        for state in self.covering(request):
            state.pop()


def add_to(
    covering: Sequence[ConstraintState],
    value_for: Callable[[ConstraintState], AttributeValue | None],
) -> ConstraintState | None:
    """Add a picked device, or change nothing and return the first constraint against it.

    Values are asked for one constraint after the other, since asking may end the search.
    """
    for index, state in enumerate(covering):
        value = value_for(state)
        if value is None or not state.accepts(value):
            for added in covering[:index]:
                added.pop()
            return state
        state.push(value)
    return None


def states_of(
    constraints: Iterable[DeviceConstraint], *, rules: Rules = DEFAULT_RULES
) -> ConstraintStates:
    """Start with no device picked."""
    has_lists = rules.has(Feature.LIST_TYPE_ATTRIBUTES)
    states = []
    for constraint in constraints:
        both = constraint.match_attribute is not None and constraint.distinct_attribute is not None
        if both and not rules.quirks.match_hides_distinct:
            match = DeviceConstraint(constraint.requests, constraint.match_attribute)
            distinct = DeviceConstraint(constraint.requests, None, constraint.distinct_attribute)
            states += [ConstraintState(match, has_lists), ConstraintState(distinct, has_lists)]
        else:
            states.append(ConstraintState(constraint, has_lists))
    return ConstraintStates(tuple(states))
