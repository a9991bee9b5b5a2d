"""Nodes in groups by a value of theirs, kept from plan to plan.

A cluster has thousands of nodes and few ways in which they differ to a pod. Nodes are bits of
one number, by the position that the allocator gives them, and a node is looked at again only
when something of it has changed.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Grouped(Generic[V]):
    """Nodes by value. Whoever changes them says so (`allocator.search.change_log`)."""

    __slots__ = ("_groups", "_known", "_stale", "_value_of")

    def __init__(self, value_of: Callable[[int], V]) -> None:
        """Take what looks at the node in a position."""
        self._value_of: Final = value_of
        self._known: Final[list[V]] = []
        self._groups: Final[dict[V, int]] = {}
        self._stale = 0

    def changed(self, nodes: int) -> None:
        """Look at these nodes again when groups are asked for next."""
        self._stale |= nodes

    def groups(self, count: int) -> Mapping[V, int]:
        """Return the nodes with each value; there are `count` positions."""
        known, groups = self._known, self._groups
        while len(known) < count:
            position = len(known)
            value = self._value_of(position)
            known.append(value)
            groups[value] = groups.get(value, 0) | 1 << position
        stale, self._stale = self._stale, 0
        while stale:
            bit = stale & -stale
            stale ^= bit
            position = bit.bit_length() - 1
            if position < len(known):
                self._look_again(position, bit)
        return groups

    def _look_again(self, position: int, bit: int) -> None:
        value, before = self._value_of(position), self._known[position]
        if value == before:
            return
        self._known[position] = value
        others = self._groups[before] ^ bit
        if others:
            self._groups[before] = others
        else:
            del self._groups[before]
        self._groups[value] = self._groups.get(value, 0) | bit


def positions_in(nodes: int) -> list[int]:
    """List the positions of nodes that are given as bits."""
    return [position for position, bit in enumerate(f"{nodes:b}"[::-1]) if bit == "1"]
