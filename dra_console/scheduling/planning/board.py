"""The nodes of one cluster with all that plans ask of them, kept from plan to plan.

Whoever keeps the world in memory tells a board of each change of a node and of what runs on
it, and puts nodes, devices and claims into the `Fleet` that the board was made with. Not for
several threads at once.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.allocator.search.fleet import Fleet
from dra_console.mirror.pod_requests import Amounts
from dra_console.scheduling.planning.columns import Columns
from dra_console.scheduling.planning.node_facts import NodeFacts, facts_of
from dra_console.scheduling.planning.node_use import NodeUse, TakenPod
from dra_console.scheduling.planning.wishes import PodWish


class NodeBoard:
    """Nodes as filters and scores see them."""

    __slots__ = ("_columns", "_facts", "_use", "fleet")

    def __init__(self, fleet: Fleet) -> None:
        self.fleet: Final = fleet
        """Devices and claims."""
        self._facts: Final[dict[str, NodeFacts]] = {}
        self._use: Final = NodeUse()
        self._columns = Columns(fleet.roster, self._facts, self._use)

    def put_node(self, node: JsonObject) -> None:
        """Take a Node as it is now.

        Raises:
            DecodeError: name or labels are of the wrong kind.

        """
        self.put_facts(facts_of(node))

    def put_facts(self, facts: NodeFacts) -> None:
        """Take what was read of a node."""
        if self._facts.get(facts.node.name) != facts:
            self._facts[facts.node.name] = facts
            self.columns.node_changed(facts.node.name)

    def remove_node(self, name: str) -> None:
        """Forget a node."""
        if self._facts.pop(name, None) is not None:
            self.columns.node_changed(name)

    def show_use(self, uses: Mapping[str, Amounts], *, shown: Iterable[str] = ()) -> None:
        """Take what the mirror shows of nodes (`node_uses.read_uses`).

        `shown` are the UIDs of pods that are in it, so that they are not counted twice.
        """
        changed = self._use.let_go(shown)
        for name, amounts in uses.items():
            self._use.show(name, amounts)
        for name in changed | uses.keys():
            self.columns.use_changed(name)

    def take_pod(self, wish: PodWish, *, node_name: str) -> None:
        """Count on a pod that a plan has put on a node, until the mirror shows it."""
        self._use.take(wish.uid, TakenPod(node_name, wish.requests))
        self.columns.use_changed(node_name)

    def let_pod_go(self, uid: str) -> None:
        """Count on that pod no more, as it was not bound."""
        for name in self._use.let_go((uid,)):
            self.columns.use_changed(name)

    @property
    def taken_pods(self) -> Mapping[str, TakenPod]:
        """Pods that the mirror does not show yet, by UID."""
        return self._use.taken()

    def facts(self, name: str) -> NodeFacts | None:
        """Return what is known of a node."""
        return self._facts.get(name)

    def all_facts(self) -> Collection[NodeFacts]:
        """Return what is known of all nodes."""
        return self._facts.values()

    @property
    def columns(self) -> Columns:
        """Return the nodes by position, as the allocator counts them now."""
        if self._columns.roster is not self.fleet.roster:
            self._columns = Columns(self.fleet.roster, self._facts, self._use)
        return self._columns
