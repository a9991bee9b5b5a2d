"""Which nodes have one shape, as one view tells nodes apart.

A node keeps its shape when its devices change hands, so this is worked out once for each node
until one of its slices, or the node itself, is another one.
"""

from typing import Final

from dra_console.allocator.search.records import Record
from dra_console.allocator.world.view import View

UNKNOWN: Final = -1
FEW: Final = 64
"""Changed nodes that are looked at one by one."""


class Shapes:
    """Shapes of nodes by position, and positions, as bits of one number, by shape."""

    __slots__ = ("_nodes_of", "_shape_at", "_view")

    def __init__(self, view: View) -> None:
        self._view: Final = view
        self._shape_at: Final[list[int]] = []
        self._nodes_of: Final[dict[int, int]] = {}

    def at(self, position: int, record: Record) -> int:
        """Return the shape of the node in a position.

        Raises:
            NodeSelectorError: the node selector of a slice or device is malformed.

        """
        known = self._shape_at
        if position >= len(known):
            known += [UNKNOWN] * (position + 1 - len(known))
        shape = known[position]
        if shape == UNKNOWN:
            shape = known[position] = self._view.shape(record.node)
            self._nodes_of[shape] = self._nodes_of.get(shape, 0) | 1 << position
        return shape

    def nodes_of(self, shape: int) -> int:
        """Return the nodes that are known to have a shape."""
        return self._nodes_of.get(shape, 0)

    def changed(self, nodes: int) -> None:
        """Look at these nodes again when they are asked for next."""
        if nodes.bit_count() > FEW:
            self._shape_at.clear()
            self._nodes_of.clear()
            return
        while nodes:
            bit = nodes & -nodes
            nodes ^= bit
            position = bit.bit_length() - 1
            if position < len(self._shape_at) and self._shape_at[position] != UNKNOWN:
                self._nodes_of[self._shape_at[position]] ^= bit
                self._shape_at[position] = UNKNOWN
