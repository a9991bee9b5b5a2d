"""Nodes that a question need be asked on once: they look alike, and are used alike.

To claims that neither take all devices nor have admin access, a held device is not there;
so eight equal devices of which any three are free are one case, not 56. Only where devices
draw on counters does it matter which ones are held.
"""

from dataclasses import dataclass
from typing import Final

from dra_console.allocator.search.records import Record, Use, Uses
from dra_console.allocator.search.shapes import FEW, UNKNOWN, Shapes
from dra_console.allocator.world.kinds import Numbering
from dra_console.allocator.world.view import View

CASES_LIMIT: Final = 65_536


@dataclass(frozen=True, slots=True)
class Case:
    """What a node looks like; equal numbers give equal answers.

    `positions` are those of the devices that an answer counts, all of them if `None`.
    """

    number: int
    positions: tuple[int, ...] | None


class Cases:
    """Tells nodes apart as one view does, and knows which of them are alike now."""

    __slots__ = (
        "_cases",
        "_nodes_in",
        "_number_at",
        "_numbers",
        "_sees_held",
        "_uses",
        "shapes",
        "view",
    )

    def __init__(self, view: View, uses: Uses, *, sees_held: bool) -> None:
        self.view: Final = view
        self.shapes: Final = Shapes(view)
        self._uses: Final = uses
        self._sees_held: Final = sees_held
        self._numbers: Final = Numbering()
        self._cases: Final[dict[tuple[int, Use], Case]] = {}
        self._number_at: Final[list[int]] = []
        self._nodes_in: Final[dict[int, int]] = {}
        """Nodes that are known to be of a case, as bits."""

    @property
    def are_too_many(self) -> bool:
        """Whether to start over, since most of them will not come back."""
        return len(self._cases) > CASES_LIMIT

    def of(self, position: int, record: Record) -> Case:
        """Look at the node in a position.

        Raises:
            NodeSelectorError: the node selector of a slice or device is malformed.

        """
        looks = (self.shapes.at(position, record), self._uses.on(record))
        case = self._cases.get(looks)
        if case is None:
            case = self._cases[looks] = self._case(*looks, has_counters=record.has_counters)
        return case

    def number_at(self, position: int, record: Record) -> int:
        """Look at the node in a position, unless it is known.

        Raises:
            NodeSelectorError: the node selector of a slice or device is malformed.

        """
        known = self._number_at
        if position >= len(known):
            known += [UNKNOWN] * (position + 1 - len(known))
        number = known[position]
        if number == UNKNOWN:
            number = known[position] = self.of(position, record).number
            self._nodes_in[number] = self._nodes_in.get(number, 0) | 1 << position
        return number

    def nodes_in(self, number: int) -> int:
        """Return the nodes that are known to be of a case, as bits."""
        return self._nodes_in.get(number, 0)

    def changed(self, nodes: int) -> None:
        """Look at these nodes again when they are asked for next."""
        if nodes.bit_count() > FEW:
            self._number_at.clear()
            self._nodes_in.clear()
            return
        while nodes:
            bit = nodes & -nodes
            nodes ^= bit
            position = bit.bit_length() - 1
            if position < len(self._number_at):
                self._leave(self._number_at[position], bit)
                self._number_at[position] = UNKNOWN

    def _leave(self, number: int, bit: int) -> None:
        if number == UNKNOWN:
            return
        others = self._nodes_in[number] ^ bit
        if others:
            self._nodes_in[number] = others
        else:
            del self._nodes_in[number]

    def _case(self, shape: int, use: Use, *, has_counters: bool) -> Case:
        free = None if self._sees_held or has_counters else self._free(shape, use)
        if free is None:
            return Case(self._numbers.of((shape, use)), None)
        kinds, positions = free
        return Case(self._numbers.of((self.view.features_of(shape), kinds)), positions)

    def _free(self, shape: int, use: Use) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return kinds and positions of what is free, or nothing if some devices are shared."""
        kinds = []
        positions = []
        start = 0
        for held, seen in zip(use, self.view.devices_in(shape), strict=True):
            if not isinstance(held, int):
                return None
            for at, kind in enumerate(seen):
                if not held >> at & 1:
                    kinds.append(kind)
                    positions.append(start + at)
            start += len(seen)
        return tuple(kinds), tuple(positions)
