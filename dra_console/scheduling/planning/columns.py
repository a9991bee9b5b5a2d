"""Nodes as bits, grouped by what filters and scores say of them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar, overload

from dra_console.allocator.model import Node
from dra_console.allocator.search.change_log import ChangeLog
from dra_console.allocator.search.roster import Roster
from dra_console.scheduling.planning.filters import Lack, lacking, preference, why_not
from dra_console.scheduling.planning.grouped import Grouped
from dra_console.scheduling.planning.held_devices import held_on
from dra_console.scheduling.planning.node_facts import NodeFacts
from dra_console.scheduling.planning.node_use import NodeUse
from dra_console.scheduling.planning.wishes import NodeWish

WISHES_KEPT: Final = 256

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)

Requests: TypeAlias = tuple[tuple[str, int], ...]


class Columns:
    """Nodes by the positions that one roster gives them."""

    __slots__ = (
        "_by_reason",
        "_facts",
        "_facts_log",
        "_held",
        "_lacking",
        "_left",
        "_liked",
        "_use",
        "_use_log",
        "roster",
    )

    def __init__(self, roster: Roster, facts: Mapping[str, NodeFacts], use: NodeUse) -> None:
        self.roster: Final = roster
        self._facts: Final = facts
        self._use: Final = use
        self._facts_log: Final = ChangeLog()
        self._use_log: Final = ChangeLog()
        self._by_reason: Final = _Kept[NodeWish, str](self._facts_log)
        self._liked: Final = _Kept[NodeWish, tuple[int, int]](self._facts_log)
        self._lacking: Final = _Kept[Requests, Lack | None](self._use_log)
        self._left: Final = _Kept[str, int](self._use_log)
        self._held: Final = Grouped(self._held_at)
        roster.nodes.log.follow(self._held)

    def node_changed(self, name: str) -> None:
        """Look at a node again."""
        position = self.roster.nodes.position_of(name)
        if position is not None:
            self._facts_log.note(1 << position)
            self._use_log.note(1 << position)

    def use_changed(self, name: str) -> None:
        """Look again at what is in use on a node."""
        position = self.roster.nodes.position_of(name)
        if position is not None:
            self._use_log.note(1 << position)

    @property
    def present(self) -> int:
        """Nodes that are there."""
        return self.roster.nodes.present

    def name_at(self, position: int) -> str:
        """Return the name of the node in a position."""
        return self.roster.nodes.nodes[position].name

    @property
    def names(self) -> "Names":
        """Return the names of all nodes by position."""
        return Names(self.roster.nodes.nodes)

    def by_reason(self, wish: NodeWish) -> Mapping[str, int]:
        """Group nodes by why they are left out; the empty text is that they are not."""
        return self._by_reason.groups(
            wish, lambda position: why_not(self._facts_at(position), wish), self._count
        )

    def by_lacking(self, requests: Requests) -> Mapping[Lack | None, int]:
        """Group nodes by the resource that is too short; `None` if none is."""
        return self._lacking.groups(requests, partial(self._lacking_at, requests), self._count)

    def most_left(self, resource: str, nodes: int) -> int:
        """Return the most of a resource that is left on any of these nodes; never less than 0."""
        left = self._left.groups(resource, partial(self._left_at, resource), self._count)
        return max(next((most for most in sorted(left, reverse=True) if left[most] & nodes), 0), 0)

    def by_preference(self, wish: NodeWish) -> Mapping[tuple[int, int], int]:
        """Group nodes by how much a pod likes them."""
        return self._liked.groups(
            wish, lambda position: preference(self._facts_at(position), wish), self._count
        )

    def by_held_devices(self) -> Mapping[int, int]:
        """Group nodes by how many devices of their own are in use."""
        self.roster.nodes.log.catch_up(self._held)
        return self._held.groups(self._count)

    @property
    def _count(self) -> int:
        return len(self.roster.nodes.nodes)

    def _facts_at(self, position: int) -> NodeFacts | None:
        return self._facts.get(self.name_at(position))

    def _lacking_at(self, requests: Requests, position: int) -> Lack | None:
        return lacking(self._facts_at(position), self._use.on(self.name_at(position)), requests)

    def _left_at(self, resource: str, position: int) -> int:
        facts = self._facts_at(position)
        offered = facts.offers.get(resource, 0) if facts else 0
        return offered - self._use.on(self.name_at(position)).get(resource, 0)

    def _held_at(self, position: int) -> int:
        return held_on(self.roster, position)


class Names(Sequence[str]):
    """Names of nodes; positions stay, so that what is added later changes none of them."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes: Final = nodes

    def __len__(self) -> int:
        """Count the positions."""
        return len(self._nodes)

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> list[str]: ...

    def __getitem__(self, position: int | slice) -> str | list[str]:
        """Name the node in a position."""
        if isinstance(position, slice):
            return [node.name for node in self._nodes[position]]
        return self._nodes[position].name


class _Kept(Generic[K, V]):
    """Groups for each of the wishes that were asked lately."""

    __slots__ = ("_kept", "_log")

    def __init__(self, log: ChangeLog) -> None:
        self._log: Final = log
        self._kept: Final[dict[K, Grouped[V]]] = {}

    def groups(self, wish: K, value_of: Callable[[int], V], count: int) -> Mapping[V, int]:
        """Return the groups of one wish as they are now."""
        grouped = self._kept.get(wish)
        if grouped is None:
            if len(self._kept) >= WISHES_KEPT:
                self._log.unfollow(self._kept.pop(next(iter(self._kept))))
            grouped = self._kept[wish] = Grouped(value_of)
            self._log.follow(grouped)
        self._log.catch_up(grouped)
        return grouped.groups(count)
