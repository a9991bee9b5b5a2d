"""What is derived once from a snapshot and used by every allocation and explanation on it.

The inventory depends on slices and taint rules, usage on claims. Both are kept beside the
snapshot for as long as it lives, so that one snapshot can be asked about many claims and
nodes. Selector answers are kept longer, with their programs (`selectors`), for classes of
devices that agree on everything an expression reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from dra_console.allocator.inventory import DeviceTaintRule, Node, PoolId, ResourceSlice
from dra_console.allocator.model import DeviceClass, ResourceClaim, Snapshot
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.world.pools import NodePool, Pool, PublishedSlice, gather, publish
from dra_console.allocator.world.usage import Usage, usage_of


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Inventory:
    """All slices of the cluster, found by node and by pool."""

    slices: tuple[PublishedSlice, ...]
    of_node: Mapping[str, tuple[PublishedSlice, ...]]
    """Slices with this `nodeName`."""

    floating: tuple[PublishedSlice, ...]
    """Slices that several nodes may use."""

    of_pool: Mapping[PoolId, Pool]
    _pools: dict[Node, tuple[NodePool, ...]] = field(default_factory=dict)

    def pools_on(self, node: Node) -> tuple[NodePool, ...]:
        """List the pools that the node sees, in first-fit order.

        Raises:
            NodeSelectorError: a slice's node selector is malformed.

        """
        known = self._pools.get(node)
        if known is None:
            nearby = (*self.of_node.get(node.name, ()), *self.floating)
            known = gather(
                (each for each in nearby if each.is_relevant(node)), of_pool=self.of_pool
            )
            self._pools[node] = known
        return known


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Index:
    """A snapshot, ready to be searched."""

    inventory: Inventory
    classes: Mapping[str, DeviceClass]
    usage: Usage
    rules: Rules = DEFAULT_RULES
    nodes: tuple[Node, ...] = ()

    def with_claims(self, claims: Iterable[ResourceClaim]) -> "Index":
        """Take other claims for the ones that hold devices."""
        return replace(self, usage=usage_of(claims))


def index_of(snapshot: Snapshot, *, rules: Rules = DEFAULT_RULES) -> Index:
    """Index a snapshot, or return the index that was made of it before by the same rules."""
    with _lock:
        known = _indexes.setdefault(snapshot, {})
        index = known.get(rules)
    if index is not None:
        return index
    index = Index(
        inventory=inventory_of(snapshot.slices, rules=snapshot.taint_rules),
        classes={each.name: each for each in snapshot.classes},
        usage=usage_of(snapshot.claims),
        rules=rules,
        nodes=snapshot.nodes,
    )
    with _lock:
        return known.setdefault(rules, index)


def inventory_of(slices: Iterable[ResourceSlice], *, rules: Iterable[DeviceTaintRule]) -> Inventory:
    """Publish every slice and group them."""
    rules = tuple(rules)
    published = tuple(publish(each, rules=rules) for each in slices)
    of_node: dict[str, list[PublishedSlice]] = {}
    of_pool: dict[PoolId, list[PublishedSlice]] = {}
    floating: list[PublishedSlice] = []
    for each in published:
        of_pool.setdefault(each.pool_id, []).append(each)
        node_name = each.slice.reach.node_name
        (floating if node_name is None else of_node.setdefault(node_name, [])).append(each)
    return Inventory(
        slices=published,
        of_node={name: tuple(each) for name, each in of_node.items()},
        floating=tuple(floating),
        of_pool={pool_id: Pool(tuple(each)) for pool_id, each in of_pool.items()},
    )


_lock: Final = Lock()
_indexes: Final[WeakKeyDictionary[Snapshot, dict[Rules, Index]]] = WeakKeyDictionary()
