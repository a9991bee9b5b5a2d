"""Nodes that differ in nothing but devices which others hold.

To claims that neither take all devices nor have admin access, a held device is not there.
So eight equal devices of which any three are free are one case, not 56. Only where devices
draw on counters does it matter which ones are held.
"""

from dataclasses import dataclass
from typing import Final

from dra_console.allocator.search.records import Use
from dra_console.allocator.world.kinds import Numbering
from dra_console.allocator.world.views import View

CASES_LIMIT: Final = 65_536


@dataclass(frozen=True, slots=True)
class Free:
    """The free devices of a node: where they are, and a number that is equal for equal ones."""

    number: int
    positions: tuple[int, ...]


class FreeDevices:
    """Tells the cases of one view apart."""

    __slots__ = ("_cases", "_numbers", "_view")

    def __init__(self, view: View) -> None:
        self._view: Final = view
        self._numbers: Final = Numbering()
        self._cases: Final[dict[tuple[int, Use], Free | None]] = {}

    def of(self, shape: int, use: Use) -> Free | None:
        """Return what is free on a node, or nothing if some devices are shared now."""
        case = (shape, use)
        if case not in self._cases:
            if len(self._cases) >= CASES_LIMIT:
                self._cases.clear()
            self._cases[case] = self._free(shape, use)
        return self._cases[case]

    def _free(self, shape: int, use: Use) -> Free | None:
        positions = []
        kinds = []
        start = 0
        for held, seen in zip(use, self._view.devices_in(shape), strict=True):
            if not isinstance(held, int):
                return None
            for at, kind in enumerate(seen):
                if not held >> at & 1:
                    positions.append(start + at)
                    kinds.append(kind)
            start += len(seen)
        number = self._numbers.of((self._view.features_of(shape), tuple(kinds)))
        return Free(number, tuple(positions))
