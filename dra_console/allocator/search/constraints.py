"""Constraints over the devices of one claim, kept up while a search tries devices.

`add` and `remove` come in strict last-in-first-out order. A covered device without the
attribute is never acceptable, not even alone. Values of different kinds differ; versions
are compared by their spelling, build metadata included. A list-valued attribute, which
takes a feature gate that is off by default, is accepted for the first covered device and
for no second one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dra_console.allocator.facts import DeviceFacts
from dra_console.allocator.inventory import AttributeValue
from dra_console.allocator.model import DeviceConstraint


@dataclass(slots=True)
class ConstraintState:
    """One constraint and the values of the devices that it covers so far.

    If both attributes are set, which the API documents as invalid but stores, only
    `matchAttribute` counts, as upstream has it.
    """

    constraint: DeviceConstraint
    values: list[AttributeValue] = field(default_factory=list)

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
        if not self.values:
            return True
        if isinstance(value.value, tuple) or isinstance(self.values[0].value, tuple):
            return False
        if self.constraint.match_attribute is not None:
            return value == self.values[0]
        return value not in self.values

    def describe(self) -> str:
        """Say what the constraint asks for, in the API's words."""
        kind = "distinctAttribute" if self.constraint.match_attribute is None else "matchAttribute"
        return f"{kind} {self.attribute}"


@dataclass(slots=True)
class ConstraintStates:
    """All constraints of one claim."""

    states: tuple[ConstraintState, ...]

    def add(self, facts: DeviceFacts, *, request: str) -> ConstraintState | None:
        """Add a picked device, or change nothing and return the first constraint against it."""
        covering = [state for state in self.states if state.covers(request)]
        values = [facts.attribute(state.attribute) for state in covering]
        for state, value in zip(covering, values, strict=True):
            if not state.accepts(value):
                return state
        for state, value in zip(covering, values, strict=True):
            if value is not None:
                state.values.append(value)
        return None

    def remove(self, *, request: str) -> None:
        """Undo the latest `add`, which was for the same request."""
        for state in self.states:
            if state.covers(request):
                state.values.pop()


def states_of(constraints: Iterable[DeviceConstraint]) -> ConstraintStates:
    """Start with no device picked."""
    return ConstraintStates(tuple(ConstraintState(constraint) for constraint in constraints))
