"""In which state of use devices are: worked out once for what claims hold.

Two devices of one kind and in one state of use are judged alike. The state says nothing
about who holds the device, only what is left of it, and of the counters that it draws on.
"""

from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from dra_console.allocator.explanation.places import Place, Places
from dra_console.allocator.inventory import NodeReach
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.drawing import ledger_of
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.groups import GroupsOfSets, groups_in_use
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.pools import NodePool, PoolGeneration, PoolStatus, PublishedDevice
from dra_console.allocator.world.usage import Usage
from dra_console.allocator.world.view import View
from dra_console.allocator.world.views import VIEWS_LIMIT

UseState: TypeAlias = Hashable


class Holdings:
    """States of use by device, and the counters of pools at what is left."""

    def __init__(self, inventory: Inventory, usage: Usage) -> None:
        self._inventory = inventory
        self._rules = inventory.rules
        self._has_groups = inventory.rules.has(Feature.COMPATIBILITY_GROUPS)
        self._groups: dict[tuple[PoolGeneration, NodeReach], GroupsOfSets] = {}
        self._usage = usage
        self._ledgers: dict[PoolGeneration, CounterLedger] = {}
        self._balances: dict[tuple[PoolGeneration, NodeReach], Hashable] = {}
        self._states: dict[Place, tuple[UseState, ...]] = {}
        self._alike: dict[View, Sequence[tuple[Place, ...]]] = {}

    def states(self, place: Place) -> tuple[UseState, ...]:
        """Name the states of the devices that stand at a place, in their order."""
        known = self._states.get(place)
        if known is None:
            known = self._states[place] = tuple(map(self.state, place.devices))
        return known

    def alike(self, places: Places, view: View) -> Sequence[tuple[Place, ...]]:
        """Group the places that no claim with this view can tell apart, in their order."""
        known = self._alike.get(view)
        if known is None:
            groups: dict[Hashable, list[Place]] = {}
            for place in places.of_node:
                key = (place.outline, _kinds(place, view), self.states(place))
                groups.setdefault(key, []).append(place)
            known = tuple(map(tuple, groups.values()))
            self._alike[view] = known
            if len(self._alike) > VIEWS_LIMIT:
                del self._alike[next(iter(self._alike))]
        return known

    def state(self, published: PublishedDevice) -> UseState:
        """Name the state of one device: equal states leave the same."""
        device_id = published.id
        is_held = device_id in self._usage.holders
        booked = self._usage.booked.get(device_id)
        if booked is None and not published.draws:
            return is_held
        shares = None
        if booked is not None:
            amounts = tuple(sorted((name, each.nanos) for name, each in booked.items()))
            shares = (len(self._usage.sharers.get(device_id, ())), amounts)
        balance = self._balance(published) if published.draws else None
        return (is_held, shares, balance)

    def ledger(self, published: PublishedDevice) -> CounterLedger:
        """Return what is left of the counters that a device draws on; not to be changed."""
        generation = self._generation(published)
        known = self._ledgers.get(generation)
        if known is None:
            pool_id = published.id.pool_id
            whole = NodePool(pool_id, PoolStatus.READY, "", generation.slices, generation)
            known = ledger_of(whole, usage=self._usage, rules=self._rules)
            self._ledgers[generation] = known
        return known

    def groups(self, published: PublishedDevice) -> GroupsOfSets:
        """Return the compatibility groups that devices in use leave of the counter sets.

        Where those do not go together their order counts: the ones that the same nodes see come
        first, by the name of their slice.
        """
        generation = self._generation(published)
        key = (generation, published.slice.reach)
        known = self._groups.get(key)
        if known is None:
            near = [each for each in generation.slices if each.slice.reach == key[1]]
            near.sort(key=lambda each: each.slice.name)
            nearby = (device for each in near for device in each.devices)
            known = self._groups[key] = groups_in_use(
                each.device.consumes_counters
                for each in dict.fromkeys((*nearby, *generation.devices))
                if each.draws and self._usage.is_drawn(each.id)
            )
        return known

    def _balance(self, published: PublishedDevice) -> Hashable:
        key = (self._generation(published), published.slice.reach)
        known = self._balances.get(key)
        if known is None:
            free = sorted(self.ledger(published).free.items())
            groups = self.groups(published) if self._has_groups else {}
            known = (tuple(free), tuple(sorted(groups.items(), key=str)))
            self._balances[key] = known
        return known

    def _generation(self, published: PublishedDevice) -> PoolGeneration:
        pool = self._inventory.pool(published.id.pool_id)
        return pool.generation(published.slice.generation)


def _kinds(place: Place, view: View) -> tuple[int, ...]:
    if place.slices is None:
        return tuple(map(view.kind, place.devices))
    return tuple([kind for each in place.slices for kind in view.kinds_of(each)])


def holdings_of(index: Index) -> Holdings:
    """Return the states of use in an index, as far as they were worked out before."""
    with _lock:
        known = _kept.get(index)
        if known is None:
            known = _kept[index] = Holdings(index.inventory, index.usage)
    return known


_lock: Final = Lock()
_kept: Final[WeakKeyDictionary[Index, Holdings]] = WeakKeyDictionary()
