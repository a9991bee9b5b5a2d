"""What a figure is wanted to be: a ratio to another column of the same run, or a bound.

The benchmark says whether a target is met and asserts nothing: absolute times do not travel
between machines, and even ratios waver on a busy one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Column(StrEnum):
    """Where a time was measured."""

    FIRST = "first"
    """Ours as the first question of a process: the CEL environment is made, too."""

    COLD = "cold"
    """Ours on a decoded snapshot that nobody has asked about, no expression compiled."""

    KEPT = "kept"
    """The same with the selectors compiled before, as a process keeps them between snapshots."""

    WARM = "warm"
    """Ours on an index, or a fleet, that has answered before."""

    REFERENCE = "reference"
    """The plain method in Python, selectors compiled, up to the first node that fits."""

    FILTER = "reference, filter"
    """The plain method up to as many nodes that fit as kube-scheduler's Filter looks for."""

    GO_FIRST = "go first"
    """Upstream's NewAllocator and Allocate as the first question of a process."""

    GO_COLD = "go cold"
    """The same in a process that has its CEL environment, no expression compiled."""

    GO_POD = "go pod"
    """The same with the selectors compiled before: what kube-scheduler does for each pod."""

    GO_WARM = "go warm"
    """Upstream's Allocate alone, on an allocator that has answered before."""


Seconds: TypeAlias = Mapping[Column, float]
"""Figures of one row, in seconds for one pod."""


@dataclass(frozen=True, slots=True)
class Faster:
    """At least so many times as fast as another column."""

    times: float
    than: Column
    of: Column

    def __str__(self) -> str:
        return f"{self.of} {self.times:,g}x {self.than}"

    def ratio(self, seconds: Seconds) -> float | None:
        """Say how many times as fast it is, `None` if either was not measured."""
        if self.than not in seconds or self.of not in seconds:
            return None
        return seconds[self.than] / seconds[self.of]

    def is_met(self, seconds: Seconds) -> bool | None:
        """Tell whether the ratio is reached, `None` if that is not known."""
        ratio = self.ratio(seconds)
        return None if ratio is None else ratio >= self.times


@dataclass(frozen=True, slots=True)
class Beside:
    """A ratio to another column that is shown; nothing is wanted of it."""

    than: Column
    of: Column

    def __str__(self) -> str:
        return f"({self.of} beside {self.than})"

    def ratio(self, seconds: Seconds) -> float | None:
        """Say how many times as fast it is, `None` if either was not measured."""
        return Faster(1, self.than, self.of).ratio(seconds)

    def is_met(self, _seconds: Seconds) -> bool | None:
        """Tell nothing, since nothing is wanted."""
        return None


@dataclass(frozen=True, slots=True)
class Within:
    """At most so many milliseconds."""

    milliseconds: float
    of: Column

    def __str__(self) -> str:
        return f"{self.of} < {self.milliseconds:g} ms"

    def is_met(self, seconds: Seconds) -> bool | None:
        """Tell whether it is as short, `None` if it was not measured."""
        return seconds[self.of] * 1000 < self.milliseconds if self.of in seconds else None


@dataclass(frozen=True, slots=True)
class AtMost:
    """A bound on something else than time, already measured."""

    what: str
    measured: float
    limit: float

    def __str__(self) -> str:
        return f"{self.what} < {self.limit:,g}"

    def is_met(self, _seconds: Seconds) -> bool | None:
        """Tell whether the bound holds."""
        return self.measured < self.limit


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A rate that is wanted, already measured."""

    what: str
    measured: float
    limit: float

    def __str__(self) -> str:
        return f"{self.what} >= {self.limit:,g}"

    def is_met(self, _seconds: Seconds) -> bool | None:
        """Tell whether the rate is reached."""
        return self.measured >= self.limit


Target: TypeAlias = Faster | Beside | Within | AtMost | AtLeast


def faster(times: float, *, than: Column = Column.REFERENCE, of: Column = Column.WARM) -> Faster:
    """Want a ratio, by default of the warm answer to the plain method."""
    return Faster(times, than, of)


def beside(than: Column = Column.REFERENCE, of: Column = Column.WARM) -> Beside:
    """Show a ratio, by default of the warm answer to the plain method, with no wish attached."""
    return Beside(than, of)


def within(milliseconds: float, of: Column = Column.WARM) -> Within:
    """Want a bound, by default on the warm answer."""
    return Within(milliseconds, of)
