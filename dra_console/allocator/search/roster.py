"""Nodes in order, with what is known about each: the first fit without a search on every node.

Three things make it fast, and none changes the answer. Nodes whose pools look alike to the
claims and whose devices are used alike are searched once (`View`, `Solution`). For each
question the nodes that are known not to fit are left out, as bits of one number, until
something of theirs changes. And a change of one device costs the nodes that see it, no more.

What is kept is a solution as positions of devices, or that there is none, or that the steps
did not suffice. Broken input is never kept: its message names the claim and the device, so
the node is searched again for it. So is a node that cannot be looked at.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import ClaimSpec, Node, ResourceClaim
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.search.free_devices import FreeDevices
from dra_console.allocator.search.questions import Question
from dra_console.allocator.search.records import Record, Uses
from dra_console.allocator.search.search import search_node
from dra_console.allocator.search.signatures import sight_of
from dra_console.allocator.search.solutions import solution_of
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import NodePool
from dra_console.allocator.world.views import View

QUESTIONS_LIMIT: Final = 512
CHANGES_LIMIT: Final = 1_024
VIEWS_LIMIT: Final = 16


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Where claims fit, and how many nodes it took to find out; `node` is set if they fit.

    Without a fit, an exhausted budget on some node outweighs the nodes that are known not
    to fit: nothing can be said then. `DoesNotFit` names the invalid pools of all nodes.
    """

    node: Node | None
    outcome: Outcome
    tried: int


class Roster:
    """The nodes of one index. Whoever changes its world says which nodes see the change."""

    __slots__ = (
        "_changes",
        "_free",
        "_nodes",
        "_position_of",
        "_present",
        "_questions",
        "_records",
        "_seers",
        "_uses",
        "index",
    )

    def __init__(self, index: Index, *, is_used: Callable[[PoolId], bool] | None = None) -> None:
        self.index: Final = index
        self._nodes: Final = [*index.nodes]
        self._position_of: Final = {node.name: at for at, node in enumerate(index.nodes)}
        self._present = (1 << len(self._nodes)) - 1
        """Bit N is unset if node N is gone; the others keep their bits."""
        self._records: Final[list[Record | None]] = [None] * len(self._nodes)
        self._uses: Final = Uses(index.usage, common=index.views.common, is_used=is_used)
        self._seers: Final[dict[NodePool, int]] = {}
        """Nodes that see a pool, as bits."""
        self._questions: Final[dict[tuple[tuple[ClaimSpec, ...], int], Question]] = {}
        self._free: Final[dict[View, FreeDevices]] = {}
        self._changes: Final[list[int]] = []
        """Nodes that have changed, one after the other, as bits."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that are there, in order."""
        return tuple(node for at, node in enumerate(self._nodes) if self._present >> at & 1)

    def first_fit(
        self,
        claims: Sequence[ResourceClaim],
        *,
        nodes: Sequence[Node] | None = None,
        step_budget: int,
    ) -> FirstFit:
        """Find the first node on which all claims fit, among all or among these, in order."""
        question = self._question(claims, step_budget=step_budget)
        if nodes is not None:
            return self._first_fit_among(nodes, claims, question)
        steps = 0
        while left := question.open & self._present:
            bit = left & -left
            position = bit.bit_length() - 1
            outcome = self._ask(question, claims, position)
            steps += outcome.steps
            if isinstance(outcome, Allocated | BrokenInput):
                tried = (self._present & ((bit << 1) - 1)).bit_count()
                return _found(self._nodes[position], outcome, tried=tried, steps=steps)
            _close(question, bit, outcome)
        tried = self._present.bit_count()
        if question.exhausted & self._present:
            return FirstFit(None, BudgetExhausted(steps), tried)
        return FirstFit(None, DoesNotFit(steps, self._invalid_pools()), tried)

    def _first_fit_among(
        self, nodes: Sequence[Node], claims: Sequence[ResourceClaim], question: Question
    ) -> FirstFit:
        steps = 0
        is_exhausted = False
        invalid_pools: dict[tuple[PoolId, str], None] = {}
        for tried, node in enumerate(nodes, start=1):
            outcome = self._outcome_on(node, claims, question)
            steps += outcome.steps
            match outcome:
                case Allocated() | BrokenInput():
                    return _found(node, outcome, tried=tried, steps=steps)
                case BudgetExhausted():
                    is_exhausted = True
                case DoesNotFit():
                    invalid_pools |= dict.fromkeys(outcome.invalid_pools)
        if is_exhausted:
            return FirstFit(None, BudgetExhausted(steps), len(nodes))
        return FirstFit(None, DoesNotFit(steps, tuple(invalid_pools)), len(nodes))

    def _outcome_on(
        self, node: Node, claims: Sequence[ResourceClaim], question: Question
    ) -> Outcome:
        position = self._position_of.get(node.name)
        if position is None or self._nodes[position] != node:
            return search_node(self.index, claims, node=node, step_budget=question.step_budget)
        bit = 1 << position
        if question.open & bit:
            outcome = self._ask(question, claims, position)
            if not isinstance(outcome, Allocated | BrokenInput):
                _close(question, bit, outcome)
            return outcome
        if question.exhausted & bit:
            return BudgetExhausted(0)
        return DoesNotFit(0, self._record(position).invalid)

    def put_node(self, node: Node) -> None:
        """Add a node behind the others, or take another one for the node of this name."""
        position = self._position_of.get(node.name)
        if position is None:
            position = self._position_of[node.name] = len(self._nodes)
            self._nodes.append(node)
            self._records.append(None)
            self._present |= 1 << position
            self._note(1 << position)
            return
        self._forget(position)
        self._nodes[position] = node

    def remove_node(self, name: str) -> None:
        """Take a node away, if it is there."""
        if name in self._position_of:
            position = self._position_of.pop(name)
            self._forget(position)
            self._present &= ~(1 << position)

    def pool_changed_hands(self, pool: NodePool) -> None:
        """Look again at the nodes that see the pool, since its devices are used otherwise."""
        self._uses.forget(pool)
        self._note(self._seers.get(pool, 0))

    def nodes_changed(self, names: Iterable[str]) -> None:
        """Look again at nodes, since a pool that they see is another one; unknown ones are fine."""
        for name in names:
            if name in self._position_of:
                self._forget(self._position_of[name])

    def all_changed(self) -> None:
        """Look again at every node."""
        for position in range(len(self._nodes)):
            self._forget(position)

    def classes_changed(self) -> None:
        """Forget all answers, since a class means something else now."""
        self._questions.clear()

    def _forget(self, position: int) -> None:
        bit = 1 << position
        self._note(bit)
        self.index.inventory.forget_node(self._nodes[position])
        self.index.views.forget_node(self._nodes[position])
        record = self._records[position]
        self._records[position] = None
        for pool in record.ready if record else ():
            seers = self._seers.pop(pool, 0) & ~bit
            if seers:
                self._seers[pool] = seers
            else:
                self._uses.forget(pool)

    def _note(self, nodes: int) -> None:
        self._changes.append(nodes)
        if len(self._changes) <= CHANGES_LIMIT:
            return
        for at in range(len(self._changes) - 1, 0, -1):
            self._changes[at - 1] |= self._changes[at]
        for question in self._questions.values():
            if question.changes_seen < len(self._changes):
                question.reopen(self._changes[question.changes_seen])
            question.changes_seen = 0
        self._changes.clear()

    def _question(self, claims: Sequence[ResourceClaim], *, step_budget: int) -> Question:
        key = (tuple([claim.spec for claim in claims]), step_budget)
        question = self._questions.get(key)
        if question is None:
            sight = sight_of(claims, classes=self.index.classes)
            view = self.index.views.covering(sight.reads, compares_capacity=sight.compares_capacity)
            if len(self._free) >= VIEWS_LIMIT:
                self._free.clear()
            free = self._free.setdefault(view, FreeDevices(view))
            question = Question(
                sight, view, free, step_budget, self._present, changes_seen=len(self._changes)
            )
            if len(self._questions) >= QUESTIONS_LIMIT:
                del self._questions[next(iter(self._questions))]
            self._questions[key] = question
        elif question.changes_seen < len(self._changes):
            changed = 0
            for nodes in self._changes[question.changes_seen :]:
                changed |= nodes
            question.reopen(changed)
            question.changes_seen = len(self._changes)
        return question

    def _ask(self, question: Question, claims: Sequence[ResourceClaim], position: int) -> Outcome:
        """Answer for a node from what is known of nodes alike, or search it."""
        node = self._nodes[position]
        budget = question.step_budget
        try:
            record = self._record(position)
            shape = question.view.shape(node)
        except NodeSelectorError:
            return search_node(self.index, claims, node=node, step_budget=budget)
        use = self._uses.on(record)
        free = None
        if not (question.sight.looks_at_held_devices or record.has_counters):
            free = question.free.of(shape, use)
        known = question.answer(shape, use, free)
        if known is not None:
            solution, positions = known
            try:
                return solution.on(record, positions, step_budget=budget)
            except NodeSelectorError:
                return search_node(self.index, claims, node=node, step_budget=budget)
        outcome = search_node(self.index, claims, node=node, step_budget=budget)
        if not isinstance(outcome, BrokenInput):
            question.keep(solution_of(outcome, record), shape, use, free)
        return outcome

    def _record(self, position: int) -> Record:
        record = self._records[position]
        if record is None:
            node = self._nodes[position]
            record = Record.of(node, self.index.inventory.pools_on(node))
            self._records[position] = record
            for pool in record.ready:
                self._seers[pool] = self._seers.get(pool, 0) | 1 << position
        return record

    def _invalid_pools(self) -> tuple[tuple[PoolId, str], ...]:
        records = (record for record in self._records if record is not None)
        return tuple(dict.fromkeys(pool for record in records for pool in record.invalid))


def _found(node: Node, outcome: Allocated | BrokenInput, *, tried: int, steps: int) -> FirstFit:
    if isinstance(outcome, BrokenInput):
        return FirstFit(None, outcome, tried)
    return FirstFit(node, Allocated(outcome.results, steps), tried)


def _close(question: Question, bit: int, outcome: Outcome) -> None:
    question.open &= ~bit
    if isinstance(outcome, BudgetExhausted):
        question.exhausted |= bit
