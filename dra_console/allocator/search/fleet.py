"""A cluster that changes, and where claims fit in it, without starting over.

Whoever watches the API server or plans ahead puts every change in here, object by object,
and may ask in between. An answer is what `first_fit` gives on a snapshot of the same
objects; what is known of the nodes that a change does not concern is kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from dra_console.allocator.inventory import DeviceId, DeviceTaintRule, Node, ResourceSlice
from dra_console.allocator.model import DeviceClass, ResourceClaim, Snapshot
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.fits import FirstFit
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.added_taints import added_taints
from dra_console.allocator.world.bookings import Bookings
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.views import Views


class Fleet:
    """Nodes, slices, classes, claims and taint rules by name; not for several threads at once.

    To put an object replaces the one of its name, wherever that stood; new nodes come behind
    the others. To remove what is not there does nothing, as a watch may tell twice.
    """

    __slots__ = ("_bookings", "_claims", "_classes", "_roster", "_rules", "_slices", "_taint_rules")

    def __init__(self, snapshot: Snapshot | None = None, *, rules: Rules = DEFAULT_RULES) -> None:
        start = snapshot or Snapshot()
        self._rules: Final = rules
        self._slices: Final = {each.name: each for each in start.slices}
        self._classes: Final = {each.name: each for each in start.classes}
        self._claims: Final = {each.key: each for each in start.claims}
        self._taint_rules: Final = {each.name: each for each in start.taint_rules}
        self._bookings: Final = Bookings(self._claims.values(), rules=rules)
        self._roster = self._new_roster({node.name: node for node in start.nodes}.values())

    def _new_roster(self, nodes: Iterable[Node]) -> Roster:
        inventory = Inventory(self._slices.values(), rules=self._rules)
        added = added_taints(self._taint_rules.values(), rules=self._rules)
        return Roster(
            Index(
                inventory=inventory,
                views=Views(inventory, added_taints=added),
                added_taints=added,
                classes=self._classes,
                usage=self._bookings.usage,
                rules=self._rules,
                nodes=tuple(nodes),
            ),
            is_used=self._bookings.is_used,
        )

    @property
    def roster(self) -> Roster:
        """What is known of the nodes; another one after a change of a taint rule."""
        return self._roster

    def snapshot(self) -> Snapshot:
        """Take all objects as they are now."""
        return Snapshot(
            nodes=self._roster.nodes.listed(),
            slices=tuple(self._slices.values()),
            classes=tuple(self._classes.values()),
            claims=tuple(self._claims.values()),
            taint_rules=tuple(self._taint_rules.values()),
        )

    def first_fit(
        self, claims: Sequence[ResourceClaim], *, step_budget: int = DEFAULT_STEP_BUDGET
    ) -> FirstFit:
        """Find the first node on which all claims fit, as `first_fit` does; nothing is held."""
        return self._roster.first_fit(claims, step_budget=step_budget)

    def put_claim(self, claim: ResourceClaim) -> None:
        """Take a claim as it is now: with an allocation, it holds devices."""
        known = self._claims.get(claim.key)
        touched = self._bookings.release(known) if known else frozenset()
        self._claims[claim.key] = claim
        self._changed_hands(touched | self._bookings.hold(claim))

    def remove_claim(self, key: str) -> None:
        """Forget a claim, `namespace/name`, and what it holds."""
        known = self._claims.pop(key, None)
        if known is not None:
            self._changed_hands(self._bookings.release(known))

    def put_slice(self, slice_: ResourceSlice) -> None:
        """Take a slice as it is now."""
        self._take_out(self._slices.pop(slice_.name, None))
        self._slices[slice_.name] = slice_
        self._roster.index.inventory.put(slice_)
        self._pool_changed(slice_)

    def remove_slice(self, name: str) -> None:
        """Forget a slice."""
        self._take_out(self._slices.pop(name, None))

    def put_class(self, device_class: DeviceClass) -> None:
        """Take a class as it is now."""
        if self._classes.get(device_class.name) != device_class:
            self._classes[device_class.name] = device_class
            self._roster.classes_changed()

    def remove_class(self, name: str) -> None:
        """Forget a class."""
        if self._classes.pop(name, None) is not None:
            self._roster.classes_changed()

    def put_node(self, node: Node) -> None:
        """Take a node as it is now."""
        self._roster.nodes.put(node)

    def remove_node(self, name: str) -> None:
        """Forget a node."""
        self._roster.nodes.remove(name)

    def put_taint_rule(self, rule: DeviceTaintRule) -> None:
        """Take a rule as it is now; all answers are forgotten, what is known of slices is not."""
        if self._taint_rules.get(rule.name) != rule:
            self._taint_rules[rule.name] = rule
            self._taint_rules_changed()

    def remove_taint_rule(self, name: str) -> None:
        """Forget a rule, like `put_taint_rule`."""
        if self._taint_rules.pop(name, None) is not None:
            self._taint_rules_changed()

    def _taint_rules_changed(self) -> None:
        index = self._roster.index
        added = added_taints(self._taint_rules.values(), rules=self._rules)
        changed = replace(
            index,
            views=index.views.on(index.inventory, added_taints=added),
            added_taints=added,
            nodes=self._roster.nodes.listed(),
        )
        self._roster = Roster(changed, is_used=self._bookings.is_used)

    def _take_out(self, slice_: ResourceSlice | None) -> None:
        if slice_ is None:
            return
        index = self._roster.index
        self._pool_changed(slice_)
        index.views.forget_slice(index.inventory.published(slice_))
        index.inventory.remove(slice_)

    def _pool_changed(self, slice_: ResourceSlice) -> None:
        """Look again at all nodes that may see a slice of this pool."""
        pool = self._roster.index.inventory.pool(slice_.pool_id)
        names = {each.slice.reach.node_name for each in pool.slices}
        if None in names:
            self._roster.nodes.all_changed()
        else:
            self._roster.nodes.nodes_changed(name for name in names if name is not None)

    def _changed_hands(self, device_ids: Iterable[DeviceId]) -> None:
        inventory = self._roster.index.inventory
        for device_id in device_ids:
            for pool in inventory.seen_with(device_id):
                self._roster.nodes.changed_hands(pool, device_id)
