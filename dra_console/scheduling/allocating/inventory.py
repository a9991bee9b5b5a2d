"""Nodes, slices, classes and taint rules of one cluster in memory, as the mirror has them.

The mirror's versions say what has changed. What of it may let something fit is told by number:
how many kinds, or uses of nodes, have changed so.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from dra_console.allocator.model import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
    Snapshot,
)
from dra_console.allocator.search.fleet import Fleet
from dra_console.kube.kinds import NODES
from dra_console.mirror import models as mirror
from dra_console.scheduling.allocating.followed import Followed
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.mirrored_use import MirroredUse
from dra_console.scheduling.planning.node_facts import NodeFacts, facts_of
from dra_console.scheduling.world.decoded import CLASS_ROWS, RULE_ROWS, SLICE_ROWS, DecodedKind
from dra_console.scheduling.world.left_out import LeftOut

NODE_FACTS: Final = DecodedKind(NODES, mirror.Node, facts_of)


class Inventory:
    """What there is to give away, and the fleet and board that plans are made on."""

    def __init__(self, cluster: mirror.Cluster, claims: Iterable[ResourceClaim]) -> None:
        """Read all of it; `claims` are those of which the fleet is told before anything else."""
        self._cluster: Final = cluster
        nodes = Followed(NODE_FACTS, put=self._put_node, remove=self._remove_node)
        slices = Followed(SLICE_ROWS, put=self._put_slice, remove=self._remove_slice)
        classes = Followed(CLASS_ROWS, put=self._put_class, remove=self._remove_class)
        rules = Followed(RULE_ROWS, put=self._put_rule, remove=self._remove_rule)
        self._followed: Final = (nodes, slices, classes, rules)
        facts = nodes.know(cluster)
        self.fleet: Final = Fleet(
            Snapshot(
                nodes=tuple(each.node for each in facts),
                slices=slices.know(cluster),
                classes=classes.know(cluster),
                claims=tuple(claims),
                taint_rules=rules.know(cluster),
            )
        )
        self.board: Final = NodeBoard(self.fleet)
        for each in facts:
            self.board.put_facts(each)
        self._use: Final = MirroredUse(cluster, self.board)
        self._use.compare()

    @property
    def left_out(self) -> list[LeftOut]:
        """List what cannot be read."""
        return [left for kind in self._followed for left in kind.left_out]

    def comparing(self) -> Iterator[int]:
        """Bring it in line with the mirror, of which every version is looked at.

        One kind a step, each told as a number; in between plans may be made.
        """
        for kind in self._followed:
            yield int(kind.compare(self._cluster))
        yield self.compare_use()

    def compare_use(self, node_names: Collection[str] | None = None) -> int:
        """Read anew what pods, of whichever scheduler, take of these nodes, or of all."""
        return int(self._use.compare(node_names))

    def look_at(self, plural: str, keys: Collection[str] | None) -> int:
        """Bring some objects of a kind in line with the mirror, `None` for all."""
        return sum(
            kind.compare(self._cluster) if keys is None else kind.look_at(self._cluster, keys)
            for kind in self._followed
            if kind.plural == plural
        )

    def _put_slice(self, slice_: ResourceSlice) -> None:
        self.fleet.put_slice(slice_)

    def _remove_slice(self, name: str) -> None:
        self.fleet.remove_slice(name)

    def _put_class(self, device_class: DeviceClass) -> None:
        self.fleet.put_class(device_class)

    def _remove_class(self, name: str) -> None:
        self.fleet.remove_class(name)

    def _put_rule(self, rule: DeviceTaintRule) -> None:
        self.fleet.put_taint_rule(rule)

    def _remove_rule(self, name: str) -> None:
        self.fleet.remove_taint_rule(name)

    def _put_node(self, facts: NodeFacts) -> None:
        self.fleet.put_node(facts.node)
        self.board.put_facts(facts)

    def _remove_node(self, name: str) -> None:
        self.board.remove_node(name)
        self.fleet.remove_node(name)
