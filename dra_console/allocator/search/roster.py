"""Nodes in order, with what is known about each: the first fit without a search on every node.

Three things make it fast, and none changes the answer. Nodes that look alike to the claims
and whose devices are used alike are searched once (`Case`, `Solution`). For each question the
nodes that are known not to fit are left out, as bits of one number, until something of theirs
changes. And a change of one device costs the nodes that see it, no more.

What is kept is a solution as positions of devices, or that there is none, or that the steps
did not suffice. Broken input is never kept: its message names the claim and the device, so
the node is searched again for it. So is a node that cannot be looked at.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import Node, ResourceClaim
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.search.change_log import ChangeLog
from dra_console.allocator.search.questions import Question, Questions
from dra_console.allocator.search.records import Record, Uses
from dra_console.allocator.search.search import search_node
from dra_console.allocator.search.solutions import solution_of
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import NodePool

InvalidPools: TypeAlias = tuple[tuple[PoolId, str], ...]


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
        "_invalid",
        "_log",
        "_nodes",
        "_positions",
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
        self._positions: dict[str, int] | None = None
        """Of nodes by name, once somebody asks."""
        self._present = (1 << len(self._nodes)) - 1
        """Bit N is unset if node N is gone; the others keep their bits."""
        self._records: Final[list[Record | None]] = [None] * len(self._nodes)
        self._invalid: Final[dict[int, InvalidPools]] = {}
        """Of the nodes that were looked at and see any."""
        self._uses: Final = Uses(index.usage, common=index.views.common, is_used=is_used)
        self._seers: Final[dict[NodePool, int]] = {}
        """Nodes that see a pool, as bits."""
        self._log: Final = ChangeLog()
        self._questions: Final = Questions(index, self._uses, self._log)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that are there, in order."""
        return tuple(node for at, node in enumerate(self._nodes) if self._present >> at & 1)

    @property
    def _position_of(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {node.name: at for at, node in enumerate(self._nodes)}
        return self._positions

    def first_fit(self, claims: Sequence[ResourceClaim], *, step_budget: int) -> FirstFit:
        """Find the first node on which all claims fit."""
        question = self._questions.ask(claims, step_budget=step_budget, nodes=self._present)
        steps = 0
        while left := question.open & self._present:
            bit = left & -left
            position = bit.bit_length() - 1
            if self._leaves_out(question, position):
                continue
            outcome = self._answer(question, claims, position)
            steps += outcome.steps
            if isinstance(outcome, Allocated | BrokenInput):
                tried = (self._present & ((bit << 1) - 1)).bit_count()
                return _found(self._nodes[position], outcome, tried=tried, steps=steps)
        tried = self._present.bit_count()
        if question.exhausted & self._present:
            return FirstFit(None, BudgetExhausted(steps), tried)
        invalid = dict.fromkeys(pool for at in sorted(self._invalid) for pool in self._invalid[at])
        return FirstFit(None, DoesNotFit(steps, tuple(invalid)), tried)

    def first_fit_among(
        self, nodes: Sequence[Node], claims: Sequence[ResourceClaim], *, step_budget: int
    ) -> FirstFit:
        """Find the first of these nodes on which all claims fit."""
        question = self._questions.ask(claims, step_budget=step_budget, nodes=self._present)
        steps = 0
        is_exhausted = False
        invalid_pools: dict[tuple[PoolId, str], None] = {}
        for at, node in enumerate(nodes):
            outcome = self._outcome_on(node, at, claims, question)
            steps += outcome.steps
            match outcome:
                case Allocated() | BrokenInput():
                    return _found(node, outcome, tried=at + 1, steps=steps)
                case BudgetExhausted():
                    is_exhausted = True
                case DoesNotFit():
                    invalid_pools |= dict.fromkeys(outcome.invalid_pools)
        if is_exhausted:
            return FirstFit(None, BudgetExhausted(steps), len(nodes))
        return FirstFit(None, DoesNotFit(steps, tuple(invalid_pools)), len(nodes))

    def _outcome_on(
        self, node: Node, at: int, claims: Sequence[ResourceClaim], question: Question
    ) -> Outcome:
        """Answer for one node, which probably is the one in the position `at`."""
        position: int | None = at
        if at >= len(self._nodes) or self._nodes[at] is not node:
            position = self._position_of.get(node.name)
        if position is None or self._nodes[position] != node:
            return search_node(self.index, claims, node=node, step_budget=question.step_budget)
        bit = 1 << position
        if question.open & bit and not self._leaves_out(question, position):
            return self._answer(question, claims, position)
        return BudgetExhausted(0) if question.exhausted & bit else self._misfit(position)

    def _leaves_out(self, question: Question, position: int) -> bool:
        """Close the question for a node, and all others of its case, if that is known to fail."""
        try:
            number = question.cases.number_at(position, self._record(position))
        except NodeSelectorError:
            return False
        solution = question.solutions.get(number)
        if solution is None or solution.claims is not None:
            return False
        question.close(question.cases.nodes_in(number), is_exhausted=solution.is_exhausted)
        return True

    def _answer(
        self, question: Question, claims: Sequence[ResourceClaim], position: int
    ) -> Outcome:
        """Answer for a node from what is known of nodes alike, or search it."""
        node = self._nodes[position]
        try:
            record = self._record(position)
            case = question.cases.of(record)
            solution = question.solutions.get(case.number)
            if solution is not None and solution.claims is not None:
                return solution.on(record, case.positions)
        except NodeSelectorError:
            return search_node(self.index, claims, node=node, step_budget=question.step_budget)
        outcome = search_node(self.index, claims, node=node, step_budget=question.step_budget)
        if not isinstance(outcome, BrokenInput):
            question.solutions[case.number] = solution_of(outcome, record, case.positions)
        if isinstance(outcome, DoesNotFit | BudgetExhausted):
            question.close(1 << position, is_exhausted=isinstance(outcome, BudgetExhausted))
        return outcome

    def _record(self, position: int) -> Record:
        record = self._records[position]
        if record is None:
            node = self._nodes[position]
            record = Record.of(node, self.index.inventory.pools_on(node))
            self._records[position] = record
            for pool in record.ready:
                self._seers[pool] = self._seers.get(pool, 0) | 1 << position
            if record.invalid:
                self._invalid[position] = record.invalid
        return record

    def _misfit(self, position: int) -> DoesNotFit:
        return DoesNotFit(0, self._invalid.get(position, ()))

    def put_node(self, node: Node) -> None:
        """Add a node behind the others, or take another one for the node of this name."""
        position = self._position_of.get(node.name)
        if position is not None:
            self._forget(position)
            self._nodes[position] = node
            return
        position = self._position_of[node.name] = len(self._nodes)
        self._nodes.append(node)
        self._records.append(None)
        self._present |= 1 << position
        self._log.note(1 << position)

    def remove_node(self, name: str) -> None:
        """Take a node away, if it is there."""
        if name in self._position_of:
            position = self._position_of.pop(name)
            self._forget(position)
            self._present &= ~(1 << position)

    def pool_changed_hands(self, pool: NodePool) -> None:
        """Look again at the nodes that see the pool, since its devices are used otherwise."""
        self._uses.forget(pool)
        nodes = self._seers.get(pool)
        if nodes:
            self._log.note(nodes)

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
        self._questions.forget()

    def _forget(self, position: int) -> None:
        bit = 1 << position
        self._log.note(bit)
        self.index.inventory.forget_node(self._nodes[position])
        self.index.views.forget_node(self._nodes[position])
        record = self._records[position]
        self._records[position] = None
        self._invalid.pop(position, None)
        for pool in record.ready if record else ():
            seers = self._seers.pop(pool, 0) & ~bit
            if seers:
                self._seers[pool] = seers
            else:
                self._uses.forget(pool)


def _found(node: Node, outcome: Allocated | BrokenInput, *, tried: int, steps: int) -> FirstFit:
    if isinstance(outcome, BrokenInput):
        return FirstFit(None, outcome, tried)
    if outcome.steps != steps:
        outcome = Allocated(outcome.results, steps)
    return FirstFit(node, outcome, tried)
