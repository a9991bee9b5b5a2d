"""What is asked, and what is known of the answers.

Solutions are kept for nodes that are alike: of one shape with devices that are used alike,
or with free devices that are alike, if held ones do not matter.
"""

from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.search.free_devices import Free, FreeDevices
from dra_console.allocator.search.records import Use
from dra_console.allocator.search.signatures import Sight
from dra_console.allocator.search.solutions import Solution
from dra_console.allocator.world.views import View

SOLUTIONS_LIMIT: Final = 65_536


@dataclass(slots=True, eq=False)
class Question:
    """Claims that are asked about, and what is known of the answers, node by node."""

    sight: Sight
    view: View
    free: FreeDevices
    step_budget: int
    open: int
    """Bit N is unset if node N is known not to fit, or to exhaust the budget."""

    changes_seen: int
    exhausted: int = 0
    _alike: dict[tuple[int, Use], Solution] = field(default_factory=dict)
    _free_alike: dict[int, Solution] = field(default_factory=dict)

    def reopen(self, nodes: int) -> None:
        """Look at nodes again that have changed."""
        self.open |= nodes
        self.exhausted &= ~nodes

    def answer(
        self, shape: int, use: Use, free: Free | None
    ) -> tuple[Solution, tuple[int, ...] | None] | None:
        """Return what is known for such a node, and the positions of the devices it counts."""
        if free is not None:
            solution = self._free_alike.get(free.number)
            return None if solution is None else (solution, free.positions)
        solution = self._alike.get((shape, use))
        return None if solution is None else (solution, None)

    def keep(self, solution: Solution, shape: int, use: Use, free: Free | None) -> None:
        """Remember a solution, with positions on the whole node."""
        if len(self._alike) + len(self._free_alike) >= SOLUTIONS_LIMIT:
            self._alike.clear()
            self._free_alike.clear()
        if free is None:
            self._alike[shape, use] = solution
        else:
            self._free_alike[free.number] = solution.counting(free.positions)
