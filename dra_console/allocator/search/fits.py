"""What a walk over the nodes comes to."""

from dataclasses import dataclass

from dra_console.allocator.model import Node
from dra_console.allocator.outcomes import Allocated, BrokenInput, Outcome


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Where claims fit, and how many nodes it took to find out; `node` is set if they fit.

    Without a fit, an exhausted budget on some node outweighs the nodes that are known not
    to fit: nothing can be said then. `DoesNotFit` names the invalid pools of all nodes.
    """

    node: Node | None
    outcome: Outcome
    tried: int

    gave_up: Node | None = None
    """The first node whose search ran out of steps, if that is the outcome."""


def found_on(node: Node, outcome: Allocated | BrokenInput, *, tried: int, steps: int) -> FirstFit:
    """Say that a node ended the walk, after so many steps on all nodes together."""
    if isinstance(outcome, BrokenInput):
        return FirstFit(None, outcome, tried)
    if outcome.steps != steps:
        outcome = Allocated(outcome.results, steps)
    return FirstFit(node, outcome, tried)
