"""All slices of the cluster, found by node and by pool.

Most nodes are like others and most questions are answered on the first few of them, so
nothing is made of a slice before somebody looks at its node or its pool.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from dra_console.allocator.inventory import DeviceId, Node, PoolId, ResourceSlice
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.world.pools import NodePool, Pool, PublishedSlice, gather, publish

Group = TypeVar("Group")
LOOKS_THROUGH: Final = 8
"""How often all slices are looked through for some of them before they are grouped."""


class Inventory:
    """Slices, and what nodes see of them; compared by identity.

    `put` and `remove` forget what was derived from the pool that they change, and from no
    other one. Slices may share a name, since an invalid dump can hold such.
    """

    __slots__ = (
        "__weakref__",
        "_looks",
        "_of_node",
        "_of_pool",
        "_on_node",
        "_pools",
        "_published",
        "_seen_named",
        "_slices",
        "rules",
    )

    def __init__(
        self,
        slices: Iterable[ResourceSlice] = (),
        *,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self.rules: Final = rules
        self._slices: tuple[ResourceSlice, ...] | None = tuple(slices)
        """All of them, until they are grouped."""
        self._looks = 0
        self._seen_named: tuple[str, list[ResourceSlice]] = ("", [])
        """The slices of pools of one name, until all are grouped; no pool has none."""
        self._of_node: Final[defaultdict[str | None, list[ResourceSlice]]] = defaultdict(list)
        """By `nodeName`; those that several nodes may use have none."""
        self._of_pool: Final[defaultdict[str, list[ResourceSlice]]] = defaultdict(list)
        """By the pool's name alone, since drivers seldom share one."""
        self._published: Final[dict[int, PublishedSlice]] = {}
        """By identity of the slice."""
        self._pools: Final[dict[PoolId, Pool]] = {}
        self._on_node: Final[dict[Node, tuple[NodePool, ...]]] = {}

    def pools_on(self, node: Node) -> tuple[NodePool, ...]:
        """List the pools that the node sees, in first-fit order.

        Raises:
            NodeSelectorError: a slice's node selector is malformed.

        """
        known = self._on_node.get(node)
        if known is None:
            nearby = map(self.published, self._nearby(node.name))
            known = self._on_node[node] = gather(
                (each for each in nearby if each.is_relevant(node)), pool_of=self.pool
            )
        return known

    def published(self, slice_: ResourceSlice) -> PublishedSlice:
        """Return one of its slices with what is derived from it."""
        known = self._published.get(id(slice_))
        if known is None:
            known = self._published[id(slice_)] = publish(slice_, rules=self.rules)
        return known

    def pool(self, pool_id: PoolId) -> Pool:
        """Return all slices of a pool in the cluster."""
        known = self._pools.get(pool_id)
        if known is None:
            known = self._pools[pool_id] = Pool(
                tuple(
                    self.published(each)
                    for each in self._named(pool_id.pool)
                    if each.driver == pool_id.driver
                )
            )
        return known

    def seen_with(self, device_id: DeviceId) -> Sequence[NodePool]:
        """List what nodes have of a pool whose answers depend on how a device is used."""
        pool = self._pools.get(device_id.pool_id)
        return () if pool is None else pool.seen_with(device_id.device)

    def pools(self) -> Iterator[Pool]:
        """Walk all pools, in the order of their first slices."""
        ids = (each.pool_id for each in self.slices())
        return (self.pool(pool_id) for pool_id in dict.fromkeys(ids))

    def slices(self) -> Iterator[ResourceSlice]:
        """Walk all slices."""
        self._group()
        return (each for slices in self._of_pool.values() for each in slices)

    def put(self, slice_: ResourceSlice) -> None:
        """Add a slice; one that it replaces has to be removed before."""
        self._group()
        self._of_node[slice_.reach.node_name].append(slice_)
        self._of_pool[slice_.pool].append(slice_)
        self._forget(slice_)

    def remove(self, slice_: ResourceSlice) -> None:
        """Take a slice away; it has to be the very object that was put."""
        self._group()
        _take_out(slice_, self._of_node, slice_.reach.node_name)
        _take_out(slice_, self._of_pool, slice_.pool)
        self._published.pop(id(slice_), None)
        self._forget(slice_)

    def changed(
        self,
        *,
        gone: Iterable[ResourceSlice],
        new: Iterable[ResourceSlice],
        node_names: frozenset[str],
    ) -> "Inventory":
        """Make another inventory without some slices and with others; this one stays as it is.

        What is derived from other pools is shared. `node_names` are those of all nodes that may
        see a slice of a changed pool.
        """
        self._group()
        other = Inventory(rules=self.rules)
        other._slices = None
        other._published.update(self._published)
        other._pools.update(self._pools)
        other._of_node.update(self._of_node)
        other._of_pool.update(self._of_pool)
        for node, pools in dict(self._on_node).items():
            if node.name not in node_names:
                other._on_node[node] = pools
        gone, new = tuple(gone), tuple(new)
        for slice_ in (*gone, *new):
            node_name, pool = slice_.reach.node_name, slice_.pool
            other._of_node[node_name] = [*other._of_node[node_name]]
            other._of_pool[pool] = [*other._of_pool[pool]]
        for slice_ in gone:
            other.remove(slice_)
        for slice_ in new:
            other.put(slice_)
        return other

    def _forget(self, slice_: ResourceSlice) -> None:
        self._pools.pop(slice_.pool_id, None)

    def _nearby(self, node_name: str) -> list[ResourceSlice]:
        """List the slices of a node, then those of several nodes.

        Drivers name the pool of a node after the node, as a rule, so a look through all slices
        for the ones takes the others along.
        """
        if not self._may_look_through() or self._slices is None:
            return [*self._of_node.get(node_name, ()), *self._of_node.get(None, ())]
        near = frozenset({node_name, None})
        found = [each for each in self._slices if each.reach.node_name in near or each.pool in near]
        self._seen_named = node_name, [each for each in found if each.pool == node_name]
        return [
            *(each for each in found if each.reach.node_name == node_name),
            *(each for each in found if each.reach.node_name is None),
        ]

    def _named(self, pool_name: str) -> Sequence[ResourceSlice]:
        """List the slices of all pools with this name."""
        known, slices = self._seen_named
        if known == pool_name and self._slices is not None:
            return slices
        if self._may_look_through() and self._slices is not None:
            return [each for each in self._slices if each.pool == pool_name]
        return self._of_pool.get(pool_name, ())

    def _may_look_through(self) -> bool:
        """Tell whether to look through all slices once more, or group them now."""
        self._looks += 1
        if self._looks > LOOKS_THROUGH:
            self._group()
        return self._slices is not None

    def _group(self) -> None:
        for each in self._slices or ():
            self._of_node[each.reach.node_name].append(each)
            self._of_pool[each.pool].append(each)
        self._slices = None

    def forget_node(self, node: Node) -> None:
        """Look again when the node is asked for next, since a pool that it sees has changed."""
        self._on_node.pop(node, None)


def _take_out(
    slice_: ResourceSlice, groups: dict[Group, list[ResourceSlice]], group: Group
) -> None:
    slices = groups[group]
    del slices[next(at for at, each in enumerate(slices) if each is slice_)]
    if not slices:
        del groups[group]
