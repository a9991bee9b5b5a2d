"""The views on one inventory: a few, each for as many claims as it can be of use to."""

from typing import Final
from weakref import WeakSet

from dra_console.allocator.cel.reads import Reads
from dra_console.allocator.inventory import Node
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.kinds import CommonKinds
from dra_console.allocator.world.pools import PublishedSlice
from dra_console.allocator.world.view import View

VIEWS_LIMIT: Final = 8


class Views:
    """The views on one inventory, each for all claims that it covers.

    A claim that reads something new gets a view that reads what the latest one does as
    well, so that claims take turns on one; older views stay with the claims that have them.
    """

    __slots__ = ("_added", "_alive", "_inventory", "_views", "common")

    def __init__(
        self,
        inventory: Inventory,
        *,
        added_taints: AddedTaints,
        common: CommonKinds | None = None,
    ) -> None:
        self._inventory: Final = inventory
        self._added: Final = added_taints
        self.common: Final = common or CommonKinds()
        self._views: Final[list[View]] = []
        self._alive: Final[WeakSet[View]] = WeakSet()
        """These and older ones that somebody still has, since slices change for them too."""

    def on(self, inventory: Inventory, *, added_taints: AddedTaints) -> "Views":
        """Look at another inventory that shares slices with this one, or by other taint rules.

        What is found out through either is known to both, so neither may forget slices.
        """
        other = Views(inventory, added_taints=added_taints, common=self.common)
        other._views.extend(
            view.on(inventory, added_taints=added_taints) for view in tuple(self._views)
        )
        other._alive.update(other._views)
        return other

    def covering(self, reads: Reads, *, compares_capacity: bool = False) -> View:
        """Return a view for claims that read this."""
        for view in self._views:
            if view.covers(reads, compares_capacity=compares_capacity):
                return view
        if self._views and not reads.is_whole_device:
            latest = self._views[-1]
            if not latest.reads.is_whole_device and not latest.tells_all_apart:
                reads = Reads(reads.names | latest.reads.names)
                compares_capacity = compares_capacity or latest.compares_capacity
        view = View(
            self._inventory,
            self.common,
            added_taints=self._added,
            reads=reads,
            compares_capacity=compares_capacity,
        )
        self._views.append(view)
        self._alive.add(view)
        del self._views[:-VIEWS_LIMIT]
        return view

    def forget_slice(self, published: PublishedSlice) -> None:
        """Drop what is known of a slice that is gone."""
        self.common.forget(published)
        for view in self._alive:
            view.forget_slice(published)

    def forget_node(self, node: Node) -> None:
        """Look again when the node is asked for next."""
        for view in self._alive:
            view.forget_node(node)
