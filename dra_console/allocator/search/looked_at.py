"""Nodes with what they look like and how they are used: found out once for several questions."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from dra_console.allocator.inventory import Node
from dra_console.allocator.search.cases import Case, Cases
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.register import Register
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.view import View

LookedAt: TypeAlias = Sequence[tuple[Record, Case] | None]
"""Node by node; `None` for one that cannot be looked at, since a node selector is malformed."""


def looked_at(index: Index, view: View, nodes: Sequence[Node], *, sees_held: bool) -> LookedAt:
    """Look at nodes as one view tells them apart, or return what was found before.

    Who holds what in the index must not change, as it does in that of a `Fleet`.
    """
    key = (view, sees_held)
    with _lock:
        known = _kept.setdefault(index, {}).get(key)
    if known is not None and known[0] == nodes:
        return known[1]
    register = Register(replace(index, nodes=tuple(nodes)))
    cases = Cases(view, register.uses, sees_held=sees_held)
    found: list[tuple[Record, Case] | None] = []
    for position in range(len(nodes)):
        try:
            record = register.record(position)
            found.append((record, cases.of(position, record)))
        except NodeSelectorError:
            found.append(None)
    with _lock:
        _kept.setdefault(index, {})[key] = ([*nodes], found)
    return found


_lock: Final = Lock()
_kept: Final[WeakKeyDictionary[Index, dict[tuple[View, bool], tuple[list[Node], LookedAt]]]] = (
    WeakKeyDictionary()
)
