"""What is derived once from a snapshot and used by every allocation and explanation on it.

The inventory depends on slices, usage on claims. Both are kept beside the
snapshot for as long as it lives, so that one snapshot can be asked about many claims and
nodes. Selector answers are kept longer, with their programs (`selectors`), for classes of
devices that agree on everything an expression reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import DeviceClass, ResourceClaim, ResourceSlice, Snapshot
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.world.added_taints import AddedTaints, added_taints
from dra_console.allocator.world.bookings import usage_of
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.usage import Usage
from dra_console.allocator.world.views import Views

MOST_GONE: Final = 100
FEW_SLICES: Final = 4
"""One of so many slices may be another one before an index is made anew."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Index:
    """A snapshot, ready to be searched."""

    inventory: Inventory
    views: Views
    classes: Mapping[str, DeviceClass]
    usage: Usage
    added_taints: AddedTaints = field(default_factory=AddedTaints)
    rules: Rules = DEFAULT_RULES
    nodes: tuple[Node, ...] = ()

    def with_claims(self, claims: Iterable[ResourceClaim]) -> "Index":
        """Take other claims for the ones that hold devices."""
        return replace(self, usage=usage_of(claims, rules=self.rules))


def index_of(snapshot: Snapshot, *, rules: Rules = DEFAULT_RULES) -> Index:
    """Index a snapshot, or return the index that was made of it before by the same rules."""
    with _lock:
        known = _indexes.setdefault(snapshot, {})
        index = known.get(rules)
    if index is not None:
        return index
    inventory = Inventory(snapshot.slices, rules=rules)
    added = added_taints(snapshot.taint_rules, rules=rules)
    index = Index(
        inventory=inventory,
        views=Views(inventory, added_taints=added),
        added_taints=added,
        classes={each.name: each for each in snapshot.classes},
        usage=usage_of(snapshot.claims, rules=rules),
        rules=rules,
        nodes=snapshot.nodes,
    )
    with _lock:
        return known.setdefault(rules, index)


def carry_index(before: Snapshot, after: Snapshot) -> None:
    """Index a snapshot at the cost of its claims, since all else is as in an indexed one.

    Nothing is done unless nodes, slices, classes and taint rules are the very same.
    """
    if not (
        after.nodes is before.nodes
        and after.slices is before.slices
        and after.classes is before.classes
        and after.taint_rules is before.taint_rules
    ):
        return
    with _lock:
        known = dict(_indexes.get(before, {}))
    carried = {rules: index.with_claims(after.claims) for rules, index in known.items()}
    with _lock:
        _indexes.setdefault(after, carried)


def derive_index(before: Snapshot, after: Snapshot) -> None:
    """Index a snapshot of which a part is as in an indexed one, at the cost of the other part.

    Nothing is done where as good as all would have to be looked at again: with many other
    slices, or with some that are not one node's. Nor where as many slices are still known that
    are gone, after a long chain of such indexes: they are let go. Taint rules may be others.
    """
    with _lock:
        known = {} if after in _indexes else dict(_indexes.get(before, {}))
    if not known:
        return
    gone = _without(before.slices, after.slices)
    new = _without(after.slices, before.slices)
    if len(gone) + len(new) > len(before.slices) // FEW_SLICES:
        return
    pools = {each.pool_id for each in (*gone, *new)}
    names = {
        each.reach.node_name
        for each in (*before.slices, *after.slices)
        if pools and each.pool_id in pools
    }
    if None in names:
        return
    node_names = frozenset(name for name in names if name is not None)
    derived: dict[Rules, Index] = {}
    for rules, index in known.items():
        if index.views.common.slices_known > 2 * len(after.slices) + MOST_GONE:
            continue
        inventory = (
            index.inventory.changed(gone=gone, new=new, node_names=node_names)
            if pools
            else index.inventory
        )
        added = (
            index.added_taints
            if after.taint_rules is before.taint_rules
            else added_taints(after.taint_rules, rules=rules)
        )
        derived[rules] = Index(
            inventory=inventory,
            views=index.views.on(inventory, added_taints=added),
            added_taints=added,
            classes={each.name: each for each in after.classes},
            usage=index.usage
            if after.claims is before.claims
            else usage_of(after.claims, rules=rules),
            rules=rules,
            nodes=after.nodes,
        )
    if derived:
        with _lock:
            _indexes.setdefault(after, derived)


def _without(
    slices: tuple[ResourceSlice, ...], others: tuple[ResourceSlice, ...]
) -> list[ResourceSlice]:
    if slices is others:
        return []
    known = {id(each) for each in others}
    return [each for each in slices if id(each) not in known]


_lock: Final = Lock()
_indexes: Final[WeakKeyDictionary[Snapshot, dict[Rules, Index]]] = WeakKeyDictionary()
