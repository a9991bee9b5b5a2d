"""The snapshot of a run, carried from pod to pod.

Between two pods of a run nothing changes but the claims that it has written itself. So what
the allocator has derived from nodes and slices is kept, and who holds what is counted on.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dra_console.allocator.model import Node, ResourceClaim, Snapshot
from dra_console.allocator.world.index import carry_index


class Carried:
    """A snapshot with the claims as they were written since."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._claims = {claim.uid: claim for claim in snapshot.claims}
        self._nodes = {node.name: node for node in snapshot.nodes}
        self._node_of_pool = {
            slice_.pool_id: slice_.reach.node_name
            for slice_ in snapshot.slices
            if slice_.reach.node_name
        }
        self._held: Counter[str] = Counter()
        for claim in snapshot.claims:
            self._held.update(self._nodes_of_devices(claim))

    @property
    def snapshot(self) -> Snapshot:
        """All objects as they are now."""
        return self._snapshot

    @property
    def claims(self) -> Mapping[str, ResourceClaim]:
        """All claims, by UID."""
        return self._claims

    @property
    def held_devices(self) -> Mapping[str, int]:
        """How many devices of each node's own pools are held, by the node's name."""
        return self._held

    def nodes(self, names: Iterable[str]) -> Sequence[Node]:
        """Return the nodes of these names in their order, without those that are not known."""
        return [self._nodes[name] for name in names if name in self._nodes]

    def take(self, written: Iterable[ResourceClaim]) -> None:
        """Count claims on as they were written; those that are not known are left out."""
        new = {claim.uid: claim for claim in written if claim.uid in self._claims}
        for uid, claim in new.items():
            self._held.subtract(self._nodes_of_devices(self._claims[uid]))
            self._held.update(self._nodes_of_devices(claim))
        self._claims.update(new)
        before = self._snapshot
        self._snapshot = replace(
            before, claims=tuple(new.get(claim.uid, claim) for claim in before.claims)
        )
        carry_index(before, self._snapshot)

    def _nodes_of_devices(self, claim: ResourceClaim) -> list[str]:
        results = claim.allocation.results if claim.allocation else ()
        return [
            self._node_of_pool[result.device_id.pool_id]
            for result in results
            if not result.admin_access and result.device_id.pool_id in self._node_of_pool
        ]
