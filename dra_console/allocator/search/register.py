"""The nodes of one index in order, and what is known of each of them.

A change of one device costs the nodes that see it, no more. Nodes are bits of one number; a
node that goes leaves its bit unset, and the others keep theirs.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final, TypeAlias

from dra_console.allocator.inventory import DeviceId, PoolId
from dra_console.allocator.model import Node
from dra_console.allocator.search.change_log import ChangeLog
from dra_console.allocator.search.records import Record, Uses
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import NodePool

InvalidPools: TypeAlias = tuple[tuple[PoolId, str], ...]


class Register:
    """Nodes by position. Whoever changes their world says which of them see the change."""

    __slots__ = (
        "_index",
        "_is_by_name",
        "_positions",
        "_records",
        "_seers",
        "invalid",
        "log",
        "nodes",
        "present",
        "renewals",
        "uses",
    )

    def __init__(self, index: Index, *, is_used: Callable[[PoolId], bool] | None = None) -> None:
        self._index: Final = index
        self.nodes: Final = [*index.nodes]
        """Those that are gone stand there as well."""
        self._positions: dict[str, int] | None = None
        """Of nodes by name, once somebody asks."""
        self.present = (1 << len(self.nodes)) - 1
        """Bit N is unset if node N is gone."""
        self._records: Final[list[Record | None]] = [None] * len(self.nodes)
        self._is_by_name: bool | None = None
        """Whether the nodes stand in the order of their names, once somebody asks."""
        self.invalid: Final[dict[int, InvalidPools]] = {}
        """Of the nodes that were looked at and see any."""
        self.uses: Final = Uses(index.usage, common=index.views.common, is_used=is_used)
        self._seers: Final[dict[NodePool, int]] = {}
        """Nodes that see a pool, as bits."""
        self.log: Final = ChangeLog()
        """Nodes that have changed in any way."""
        self.renewals: Final = ChangeLog()
        """Nodes that see other pools than before, or are others themselves."""

    def listed(self) -> tuple[Node, ...]:
        """List the nodes that are there, in order."""
        return tuple(node for at, node in enumerate(self.nodes) if self.present >> at & 1)

    def position_of(self, name: str) -> int | None:
        """Return where the node of this name stands."""
        return self._position_of.get(name)

    @property
    def _position_of(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {node.name: at for at, node in enumerate(self.nodes)}
        return self._positions

    def first_of(self, nodes: int) -> int:
        """Return the first of these nodes by name, all as bits; there is one at least."""
        if self._is_by_name is None:
            self._is_by_name = all(left.name <= right.name for left, right in pairwise(self.nodes))
        if self._is_by_name:
            return nodes & -nodes
        positions = (at for at, bit in enumerate(f"{nodes:b}"[::-1]) if bit == "1")
        return 1 << min(positions, key=lambda at: self.nodes[at].name)

    def record(self, position: int) -> Record:
        """Look at the node in a position.

        Raises:
            NodeSelectorError: the node selector of a slice or device is malformed.

        """
        record = self._records[position]
        if record is None:
            node = self.nodes[position]
            record = Record.of(node, self._index.inventory.pools_on(node))
            self._records[position] = record
            for pool in record.ready:
                self._seers[pool] = self._seers.get(pool, 0) | 1 << position
            if record.invalid:
                self.invalid[position] = record.invalid
        return record

    def put(self, node: Node) -> None:
        """Add a node behind the others, or take another one for the node of this name."""
        position = self._position_of.get(node.name)
        if position is not None:
            self._forget(position)
            self.nodes[position] = node
            return
        position = self._position_of[node.name] = len(self.nodes)
        self._is_by_name = None
        self.nodes.append(node)
        self._records.append(None)
        self.present |= 1 << position
        self.log.note(1 << position)

    def remove(self, name: str) -> None:
        """Take a node away, if it is there."""
        if name in self._position_of:
            position = self._position_of.pop(name)
            self._forget(position)
            self.present &= ~(1 << position)

    def changed_hands(self, pool: NodePool, device_id: DeviceId) -> None:
        """Look again at the nodes that see the pool, since one of its devices is used otherwise."""
        self.uses.changed_hands(pool, device_id)
        nodes = self._seers.get(pool)
        if nodes:
            self.log.note(nodes)

    def nodes_changed(self, names: Iterable[str]) -> None:
        """Look again at nodes, since a pool that they see is another one; unknown ones are fine."""
        for name in names:
            if name in self._position_of:
                self._forget(self._position_of[name])

    def all_changed(self) -> None:
        """Look again at every node."""
        for position in range(len(self.nodes)):
            self._forget(position)

    def _forget(self, position: int) -> None:
        bit = 1 << position
        self.log.note(bit)
        self.renewals.note(bit)
        self._index.inventory.forget_node(self.nodes[position])
        self._index.views.forget_node(self.nodes[position])
        record = self._records[position]
        self._records[position] = None
        self.invalid.pop(position, None)
        for pool in record.ready if record else ():
            seers = self._seers.pop(pool, 0) & ~bit
            if seers:
                self._seers[pool] = seers
            else:
                self.uses.forget(pool)
