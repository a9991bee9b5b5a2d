"""How often pods fit, one after another, until none does: without a search for every pod.

Pods of one shape are placed as first fit would place them, node after node. Where nodes share
no devices, how often a node takes the pod depends on that node alone, and nodes that look alike
and are used alike (`Case`) take it equally often. So one node of each case is filled, search by
search, and what was found there is told of the others. Nodes that share devices which the pods
could take are filled together.

Several shapes are placed one after the other: the next begins where no pod of the one before
fits any more.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BrokenInputError,
    BudgetExhausted,
    DoesNotFit,
)
from dra_console.allocator.search.asks import PreparedClaim, prepare
from dra_console.allocator.search.cases import Case
from dra_console.allocator.search.looked_at import looked_at
from dra_console.allocator.search.placed import Placed
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.search import search_prepared
from dra_console.allocator.search.signatures import sight_of
from dra_console.allocator.search.solutions import Solution, solution_of
from dra_console.allocator.search.together import LEAST_STEPS, Together, entangled, fill_together
from dra_console.allocator.world.bookings import Bookings
from dra_console.allocator.world.index import Index

PODS_A_NODE: Final = 256
"""Found on one node before it is said to take at least so many: some claims never run out."""

STEPS_A_SEARCH: Final = 5_000
STEPS_IN_ALL: Final = 200_000
"""Devices considered before the answer is a lower bound; about two seconds."""


@dataclass(frozen=True, slots=True)
class FilledCase:
    """Nodes that take the same pods: the shape and solution of each pod, in order."""

    members: tuple[tuple[Record, Case], ...]
    pods: tuple[tuple[int, Solution], ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(record.node for record, _ in self.members)

    def count(self, shape: int = 0) -> int:
        """Count the pods of a shape that each of the nodes takes."""
        return sum(1 for number, _ in self.pods if number == shape)

    def placed_on(self, position: int) -> Iterator[Placed]:
        """Walk the pods on one of the nodes."""
        record, case = self.members[position]
        for shape, solution in self.pods:
            yield Placed(shape, record.node, solution.on(record, case.positions).results)


@dataclass(frozen=True, slots=True)
class Filling:
    """Where all pods went, by case and, on nodes that share devices, one by one.

    Counts are lower bounds if some search was not brought to its end. `broken` says what is
    wrong with a claim, a class or a device; no pod was placed after that.
    """

    cases: tuple[FilledCase, ...]
    together: tuple[Placed, ...]
    together_nodes: tuple[Node, ...]
    broken: BrokenInput | None
    is_lower_bound: bool
    steps: int

    def count(self, shape: int = 0) -> int:
        """Count the pods of a shape on all nodes."""
        return sum(each.count(shape) * len(each.members) for each in self.cases) + sum(
            1 for placed in self.together if placed.shape == shape
        )

    def counts_by_node(self, shape: int = 0) -> dict[str, int]:
        """Count the pods of a shape by the name of the node, of nodes that take any."""
        counts = {
            record.node.name: each.count(shape)
            for each in self.cases
            if each.count(shape)
            for record, _ in each.members
        }
        for placed in self.together:
            if placed.shape == shape:
                counts[placed.node.name] = counts.get(placed.node.name, 0) + 1
        return counts

    def placed_among(self, names: Collection[str]) -> Iterator[Placed]:
        """Walk the pods on the nodes of these names."""
        for each in self.cases:
            for position, (record, _) in enumerate(each.members if each.pods else ()):
                if record.node.name in names:
                    yield from each.placed_on(position)
        yield from (placed for placed in self.together if placed.node.name in names)

    def placed(self) -> Iterator[Placed]:
        """Walk all pods, node by node."""
        for each in self.cases:
            for position in range(len(each.members) if each.pods else 0):
                yield from each.placed_on(position)
        yield from self.together


def fill(
    index: Index,
    shapes: Sequence[Sequence[ResourceClaim]],
    *,
    nodes: Sequence[Node] | None = None,
    steps: int = STEPS_IN_ALL,
) -> Filling:
    """Place pods of each shape until none fits any more; a shape is the claims of one pod.

    `nodes` are those that may be used, all by default. The claims are taken as unallocated.
    """
    usable = index.nodes if nodes is None else nodes
    try:
        prepared = [prepare(shape, classes=index.classes, rules=index.rules) for shape in shapes]
    except BrokenInputError as error:
        return Filling((), (), (), error.broken, is_lower_bound=False, steps=0)
    try:
        return _Run(index, prepared, steps).fill(usable)
    except BrokenInputError:
        # It ends the walk where a scheduler meets it, which depends on all nodes before.
        done = fill_together(index, prepared, usable, steps=steps)
        return Filling(
            (), tuple(done.placed), tuple(usable), done.broken, done.is_lower_bound, done.steps
        )


def place(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    count: int,
    nodes: Sequence[Node],
    steps: int = STEPS_IN_ALL,
) -> Together:
    """Place so many pods, or as many as fit, as a scheduler would one after the other."""
    try:
        prepared = prepare(claims, classes=index.classes, rules=index.rules)
    except BrokenInputError as error:
        return Together(broken=error.broken)
    return fill_together(index, [prepared], nodes, steps=steps, most=count)


class _Run:
    """One call: what is left of its effort, and whether counts are lower bounds."""

    def __init__(self, index: Index, shapes: Sequence[Sequence[PreparedClaim]], steps: int) -> None:
        self._index: Final = index
        self._shapes: Final = shapes
        self._steps: Final = steps
        self._steps_left = steps
        self._is_lower_bound = False

    def fill(self, nodes: Sequence[Node]) -> Filling:
        alike, tangled = self._sorted(nodes)
        cases = tuple(self._fill_case(members) for members in alike)
        done = fill_together(self._index, self._shapes, tangled, steps=self._steps_left)
        if done.broken is not None:
            raise BrokenInputError(done.broken)
        return Filling(
            cases,
            tuple(done.placed),
            tuple(tangled),
            None,
            self._is_lower_bound or done.is_lower_bound,
            self._steps - self._steps_left + done.steps,
        )

    def _sorted(
        self, nodes: Sequence[Node]
    ) -> tuple[Sequence[tuple[tuple[Record, Case], ...]], Sequence[Node]]:
        """Group nodes by case; those that share devices, or cannot be looked at, are apart."""
        claims = [claim.claim for shape in self._shapes for claim in shape]
        sight = sight_of(claims, classes=self._index.classes)
        view = self._index.views.covering(sight.reads, compares_capacity=sight.compares_capacity)
        found = looked_at(self._index, view, nodes, sees_held=sight.looks_at_held_devices)
        is_entangled = entangled(self._index, self._shapes)
        alike: dict[int, list[tuple[Record, Case]]] = {}
        tangled: list[Node] = []
        for node, each in zip(nodes, found, strict=True):
            if each is None or is_entangled(each[0]):
                tangled.append(node)
            else:
                alike.setdefault(each[1].number, []).append(each)
        return [tuple(members) for members in alike.values()], tangled

    def _fill_case(self, members: tuple[tuple[Record, Case], ...]) -> FilledCase:
        record, case = members[0]
        bookings = Bookings(self._holding(record), rules=self._index.rules)
        index = replace(self._index, usage=bookings.usage)
        pods: list[tuple[int, Solution]] = []
        for shape, claims in enumerate(self._shapes):
            for _ in range(PODS_A_NODE):
                outcome = self._search(index, claims, record.node)
                if not isinstance(outcome, Allocated):
                    self._is_lower_bound |= isinstance(outcome, BudgetExhausted)
                    break
                pods.append((shape, solution_of(outcome, record, case.positions)))
                for prepared, result in zip(claims, outcome.results, strict=True):
                    bookings.hold(replace(prepared.claim, allocation=result))
            else:
                self._is_lower_bound = True
        return FilledCase(members, tuple(pods))

    def _holding(self, record: Record) -> Sequence[ResourceClaim]:
        """List the claims that hold devices which count on a node."""
        usage = self._index.usage
        devices = [*record.devices]
        for pool in record.ready:
            devices += pool.all_devices if pool.counters else ()
        holding: dict[int, ResourceClaim] = {}
        for published in devices:
            holder = usage.holders.get(published.id)
            if holder is not None:
                holding[id(holder)] = holder
            for sharer in usage.sharers.get(published.id, ()):
                holding[id(sharer)] = sharer
        return [*holding.values()]

    def _search(
        self, index: Index, claims: Sequence[PreparedClaim], node: Node
    ) -> Allocated | DoesNotFit | BudgetExhausted:
        if self._steps_left <= 0:
            return BudgetExhausted(0)
        budget = min(STEPS_A_SEARCH, self._steps_left)
        outcome = search_prepared(index, claims, node=node, step_budget=budget)
        self._steps_left -= max(outcome.steps, LEAST_STEPS)
        if isinstance(outcome, BrokenInput):
            raise BrokenInputError(outcome)
        return outcome
