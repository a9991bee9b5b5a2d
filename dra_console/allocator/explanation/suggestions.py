"""Single changes that would make the claims fit, each one really tried.

Tried are: fewer devices, one constraint less, one clause of a selector less, one taint
tolerated, and the end of one claim that holds devices. A change is told only if the search
then finds devices; the detail names the node. One node of each class is searched, since
the others of its class answer alike, and all trials together have a bounded effort.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.explanation import Suggestion
from dra_console.allocator.explanation.holders import Holder, without
from dra_console.allocator.explanation.relaxations import (
    Relaxation,
    fewer_clauses,
    fewer_constraints,
    fewer_devices,
    tolerating,
)
from dra_console.allocator.inventory import Node, Taint
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput
from dra_console.allocator.world.index import Index

NODE_LIMIT: Final = 64
"""Classes of nodes tried for each change, those that came closest first."""

HOLDER_LIMIT: Final = 16
"""Claims whose end is tried."""

WAITS_TOLD: Final = 3
"""Claims of which one is to end that are told at most."""


@dataclass(frozen=True, slots=True)
class Adviser:
    """Tries changes on `nodes`, which are tried in order when claims are allocated.

    `different` are one of each class of them, in the order in which they came close.
    """

    index: Index
    holders: Sequence[ResourceClaim]
    """All claims of the snapshot, of which one at a time is taken to have ended."""

    claims: Sequence[ResourceClaim]
    nodes: Sequence[Node]
    different: Sequence[Node]
    effort: Effort

    def advise(
        self, *, taints: Iterable[Taint], in_the_way: Iterable[Holder]
    ) -> Iterator[Suggestion]:
        """Yield changes that make the claims fit.

        `taints` keep devices away, `in_the_way` hold matching devices.
        """
        yield from self._fewer_devices()
        for relaxation in (*fewer_constraints(self.claims), *fewer_clauses(self.claims)):
            yield from self._tried(relaxation)
        for taint in taints:
            yield from self._tried(tolerating(self.claims, taint))
        yield from self._waits(in_the_way)

    def _fewer_devices(self) -> Iterator[Suggestion]:
        """Find the largest number of devices that fits, for each request by itself.

        What fits with a number fits with every smaller one, so the range is halved.
        """
        for wanted, change_to in fewer_devices(self.claims):
            best: Suggestion | None = None
            fits, fails = 0, wanted
            while fails - fits > 1 and not self.effort.is_spent:
                count = (fits + fails) // 2
                found = next(self._tried(change_to(count)), None)
                if found is None:
                    fails = count
                    continue
                fits, best = count, found
            if best is not None:
                yield best

    def _tried(self, relaxation: Relaxation) -> Iterator[Suggestion]:
        """Try a change on nodes that differ, and if one of them will do, on all of them.

        A node that comes before it may do as well, or show that the claim is broken now.
        """
        claims = relaxation.claims
        node = self.effort.fitting(self.index, claims, nodes=self.different[:NODE_LIMIT])
        if node is not None:
            node = self.effort.fitting(self.index, claims, nodes=self.nodes)
        if node is not None:
            yield Suggestion(relaxation.text, f"fits on {node.name}", patches=relaxation.patches)

    def _waits(self, in_the_way: Iterable[Holder]) -> Iterator[Suggestion]:
        told = 0
        for _, holder in zip(range(HOLDER_LIMIT), in_the_way, strict=False):
            if self.effort.is_spent or told == WAITS_TOLD:
                return
            ended = holder.claim
            node = self._node_without(ended, holder.nodes)
            if node is None:
                continue
            told += 1
            held = len(ended.allocation.results) if ended.allocation else 0
            text = f"Wait for the claim that holds {held} {'device' if held == 1 else 'devices'}"
            yield Suggestion(text, f"fits on {node.name}", holder=ended)

    def _node_without(self, ended: ResourceClaim, nodes: Sequence[Node]) -> Node | None:
        index = without(self.index, ended, claims=self.holders)
        for node in nodes:
            match self.effort.search(index, self.claims, node=node):
                case Allocated():
                    return node
                case BrokenInput():
                    return None
        return None
