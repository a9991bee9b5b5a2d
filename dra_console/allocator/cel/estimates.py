"""Sizes and costs before anything is evaluated: 64-bit numbers that stop at the greatest.

Source: `SizeEstimate` and `CostEstimate` of cel-go's checker.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

UNBOUNDED: Final = (1 << 64) - 1
TEXT_FACTOR: Final = 0.1
"""For walking along a text, by character."""
REGEX_FACTOR: Final = 0.25
"""For applying a pattern, by its characters."""
LIST_COST, MAP_COST, MESSAGE_COST = 10, 30, 40
"""Creating a value."""


def added(*costs: int) -> int:
    """Add up."""
    return min(sum(costs), UNBOUNDED)


def times(left: int, right: int) -> int:
    """Multiply."""
    return min(left * right, UNBOUNDED)


def scaled(size: int, factor: float) -> int:
    """Multiply by a factor and round up, as floating point numbers do."""
    product = math.ceil(float(size) * factor)
    return UNBOUNDED if product >= float(UNBOUNDED) else product


@dataclass(frozen=True, slots=True)
class Size:
    """The least and the greatest size that a value can have."""

    least: int
    greatest: int

    @classmethod
    def fixed(cls, size: int) -> "Size":
        """A size that is known."""
        return cls(size, size)

    def union(self, other: "Size") -> "Size":
        """Cover both."""
        return Size(min(self.least, other.least), max(self.greatest, other.greatest))

    def __add__(self, other: "Size") -> "Size":
        return Size(added(self.least, other.least), added(self.greatest, other.greatest))

    def __mul__(self, other: "Size") -> "Size":
        return Size(times(self.least, other.least), times(self.greatest, other.greatest))

    def scaled(self, factor: float) -> int:
        """Return the greatest cost if every unit costs the factor."""
        return scaled(self.greatest, factor)


UNKNOWN: Final = Size(0, UNBOUNDED)


@dataclass(frozen=True, slots=True)
class EntrySize:
    """How large the keys and the values of a list or map are; a list's keys are its indices."""

    is_list: bool
    key: Size
    value: Size

    def union(self, other: "EntrySize | None") -> "EntrySize | None":
        """Cover both, if both are known."""
        if other is None:
            return None
        return EntrySize(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class Path:
    """Where a value comes from: fields, `@keys`, `@values`, `@items`, from a variable on.

    A path shares its places with those that it was made from as long as there is room, and
    room doubles when it is used up. Upstream's slices do so, and there the second variable of
    a macro, one level down, overwrites the path of the first: a key is then taken to be as
    large as a value. Its estimates are what decides about a selector, so they are kept.
    """

    places: tuple[list[str], ...] = ()
    length: int = 0

    @classmethod
    def of(cls, name: str) -> "Path":
        """Begin at a variable."""
        return cls(([name],), 1)

    def then(self, step: str) -> "Path":
        """Go one step further."""
        room = self.places[0] if self.places else []
        if self.length < len(room):
            room[self.length] = step
            return Path((room,), self.length + 1)
        longer = [*room, step, *[""] * (len(room) - 1)]
        return Path((longer,), self.length + 1)

    @property
    def steps(self) -> tuple[str, ...]:
        """List the steps, as they are by now."""
        return tuple(self.places[0][: self.length]) if self.places else ()


NOWHERE: Final = Path()


@dataclass(frozen=True, slots=True)
class Hint:
    """What is declared of a part of the device: its size, and what is in it."""

    greatest: int
    key: "Hint | None" = None
    element: "Hint | None" = None
    fields: "Mapping[str, Hint] | None" = None
    is_attribute: bool = False


ATTRIBUTE: Final = Hint(64, is_attribute=True)
AMOUNT: Final = Hint(0)
IDENTIFIER, DOMAIN, DRIVER = Hint(32), Hint(63), Hint(63)
NAMES_PER_DEVICE: Final = 32
DEVICE: Final = Hint(
    0,
    fields={
        "driver": DRIVER,
        "allowMultipleAllocations": Hint(1),
        "attributes": Hint(NAMES_PER_DEVICE, DOMAIN, Hint(NAMES_PER_DEVICE, IDENTIFIER, ATTRIBUTE)),
        "capacity": Hint(NAMES_PER_DEVICE, DOMAIN, Hint(NAMES_PER_DEVICE, IDENTIFIER, AMOUNT)),
    },
)
"""The API's limits, as k8s.io/dynamic-resource-allocation/cel declares them."""


def hinted(path: Path) -> Size | None:
    """Look up the size of what a path leads to."""
    steps = path.steps
    if steps[:1] != ("device",):
        return None
    hint: Hint | None = DEVICE
    for step in steps[1:]:
        if hint is None:
            return None
        if step in {"@items", "@values"}:
            hint = hint.element
        elif step == "@keys":
            hint = hint.key
        elif hint.fields is not None and step in hint.fields:
            hint = hint.fields[step]
        else:
            is_inner = hint.element is not None and hint.element.is_attribute
            hint = hint.element if is_inner else None
    return None if hint is None else Size(0, hint.greatest)
