"""What planning comes to for a pod or a claim, each with a reason that a person can act on.

- `Placed`: a node, and devices for each claim that had none.
- `NotPlaced`: not now; another node, device or claim would change that.
- `Refused`: what is asked for is broken, or is nothing that the console does; only another
  object would change that.
- `Undecided`: the search ended by its step budget; nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dra_console.allocator.model import AllocationResult, ResourceClaim


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

    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the nodes that were left out before any device was looked at, by the reason."""

    unavailable: tuple[ResourceClaim, ...] = ()
    """Allocated claims that bind the pod to nodes which it cannot have."""

    tried: tuple[str, ...] = field(default=(), repr=False)
    """Nodes that lack devices, in the order in which they were tried."""

    @property
    def node_reasons(self) -> dict[str, str]:
        """Return the reason for each node that was left out."""
        return {name: reason for reason, names in self.left_out.items() for name in names}


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
