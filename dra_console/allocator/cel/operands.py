"""What the cost of a call is estimated from, and the estimate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dra_console.allocator.cel.estimates import UNBOUNDED, UNKNOWN, Path, Size
from dra_console.allocator.cel.tree import CelType, Literal, Node


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The greatest cost of a call, and the size of what it returns if that is known."""

    cost: int
    result: Size | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """The target or an argument of a call."""

    node: Node
    path: Path
    type: CelType
    known_size: Size | None

    @property
    def size(self) -> Size:
        """The size, or everything."""
        return self.known_size or UNKNOWN


Estimate: TypeAlias = Callable[[str, Operand | None, Sequence[Operand]], CallEstimate | None]
ONE: Final = CallEstimate(1)


def literal(operand: Operand, otherwise: int) -> int:
    """Take a whole number that is written there, not below zero."""
    match operand.node:
        case Literal(value=int() as value) if not isinstance(value, bool):
            return max(value, 0)
    return otherwise


def wrapped(size: int) -> int:
    """Leave the 64 bits as upstream's own arithmetic does here, by beginning again at zero."""
    return size % (UNBOUNDED + 1)
