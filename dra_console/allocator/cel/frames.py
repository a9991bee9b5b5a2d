"""What an evaluation carries along: the variables in sight, and what it has cost so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dra_console.allocator.cel.tree import Node
from dra_console.allocator.cel.values import CostExceededError, EvaluationError, Value


@dataclass(slots=True)
class Meter:
    """What one evaluation has cost so far."""

    limit: int
    cost: int = 0

    def charge(self, cost: int) -> None:
        """Add to the cost.

        Raises:
            CostExceededError: that was too much.

        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError


@dataclass(slots=True)
class Frame:
    """The variables in sight."""

    variables: dict[str, Value]
    meter: Meter


Step: TypeAlias = Callable[[Frame], Value]

Build: TypeAlias = Callable[[Node], Step]
"""Builds the closure of a node."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that a macro's accumulator holds."""

    error: EvaluationError


@dataclass(slots=True)
class Lazy:
    """What `cel.bind` binds: evaluated when it is first asked for."""

    step: Step
    frame: Frame
    known: Value | Failure | None = None
    is_known: bool = False

    def force(self) -> Value:
        """Evaluate, once."""
        if not self.is_known:
            try:
                self.known = self.step(self.frame)
            except EvaluationError as error:
                self.known = Failure(error)
            self.is_known = True
        return self.known


class Growing(list[Value]):
    """The list that `map` and `filter` build; nothing else can see it while it grows."""
