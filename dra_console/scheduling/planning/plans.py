"""What planning comes to for a pod or a claim, each with a reason that a person can act on.

- `Placed`: a node, and devices for each claim that had none.
- `NotPlaced`: not now; another node, device or claim would change that.
- `Refused`: what is asked for is broken, or is nothing that the console does; only another
  object would change that.
- `Undecided`: the search ended by its step budget; nothing is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.scheduling.planning.grouped import positions_in


@dataclass(frozen=True, slots=True)
class Placed:
    """A node, and one allocation for each claim that had none, by the claim's UID."""

    node_name: str
    allocations: Mapping[str, AllocationResult]


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No node takes it now."""

    reason: str
    """In a line, with how many nodes stand against it and why."""

    unavailable: tuple[ResourceClaim, ...] = ()
    """Allocated claims that bind the pod to nodes which it cannot have."""

    nodes: "NodesLeftOut" = field(default_factory=lambda: NodesLeftOut({}, ()))

    @property
    def node_reasons(self) -> dict[str, str]:
        """Return the reason for each node that was left out before any device was looked at."""
        return {
            self.nodes.names[position]: reason
            for reason, bits in self.nodes.by_reason.items()
            for position in positions_in(bits)
        }


@dataclass(frozen=True, slots=True)
class NodesLeftOut:
    """Thousands of nodes, which are named only if somebody asks."""

    by_reason: Mapping[str, int]
    """Positions as bits, by why the nodes are left out."""

    names: Sequence[str]
    """By position."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What is asked for is broken or not supported."""

    reason: str
    field: str = ""
    """Path in the object that is to blame, if there is one."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """The search ended without an answer."""

    reason: str


Plan: TypeAlias = Placed | NotPlaced | Refused | Undecided
