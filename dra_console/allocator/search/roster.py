"""Nodes in order, with what is known about each: the first fit without a search on every node.

Three things make it fast, and none changes the answer. Nodes that look alike to the claims
and whose devices are used alike are searched once (`Case`, `Solution`). For each question the
nodes that are known not to fit are left out, as bits of one number, until something of theirs
changes (`Register`). And nodes that do not fit even when all their devices are free are not
looked at again when some are.

What is kept is a solution as positions of devices, or that there is none, or that the steps
did not suffice. Broken input is never kept: its message names the claim and the device, so
the node is searched again for it. So is a node that cannot be looked at.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import Node, ResourceClaim
from dra_console.allocator.outcomes import (
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
)
from dra_console.allocator.search.cases import Case
from dra_console.allocator.search.fits import FirstFit, found_on
from dra_console.allocator.search.questions import Question, Questions
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.register import Register
from dra_console.allocator.search.search import search_node
from dra_console.allocator.search.solutions import solution_of
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.nodes import NodeSelectorError


class Glance(NamedTuple):
    """What a search has just found on one node, for those that were about to ask for it."""

    claims: Sequence[ResourceClaim]
    node: Node
    outcome: Outcome


class Roster:
    """Questions and answers about the nodes of one index, which `nodes` has in order."""

    __slots__ = ("_glance", "_questions", "index", "nodes")

    def __init__(
        self,
        index: Index,
        *,
        is_used: Callable[[PoolId], bool] | None = None,
        glance: Glance | None = None,
    ) -> None:
        self.index: Final = index
        self.nodes: Final = Register(index, is_used=is_used)
        """Whoever changes the world tells them."""
        self._questions: Final = Questions(
            index, self.nodes.uses, log=self.nodes.log, renewals=self.nodes.renewals
        )
        self._glance = glance

    def ask(self, claims: Sequence[ResourceClaim], *, step_budget: int) -> Question:
        """Return what is known of where these claims fit."""
        return self._questions.ask(claims, step_budget=step_budget, nodes=self.nodes.present)

    def first_fit(self, claims: Sequence[ResourceClaim], *, step_budget: int) -> FirstFit:
        """Find the first node on which all claims fit."""
        question = self.ask(claims, step_budget=step_budget)
        steps = 0
        while left := question.open & self.nodes.present:
            bit = left & -left
            position = bit.bit_length() - 1
            if self.leaves_out(question, position):
                continue
            outcome = self.answer(question, claims, position)
            steps += outcome.steps
            if isinstance(outcome, Allocated | BrokenInput):
                tried = (self.nodes.present & ((bit << 1) - 1)).bit_count()
                return found_on(self.nodes.nodes[position], outcome, tried=tried, steps=steps)
        tried = self.nodes.present.bit_count()
        if exhausted := question.exhausted:
            gave_up = self.nodes.nodes[(exhausted & -exhausted).bit_length() - 1]
            return FirstFit(None, BudgetExhausted(steps), tried, gave_up)
        invalid = self.nodes.invalid
        pools = dict.fromkeys(pool for at in sorted(invalid) for pool in invalid[at])
        return FirstFit(None, DoesNotFit(steps, tuple(pools)), tried)

    def first_fit_among(
        self, nodes: Sequence[Node], claims: Sequence[ResourceClaim], *, step_budget: int
    ) -> FirstFit:
        """Find the first of these nodes on which all claims fit."""
        question = self.ask(claims, step_budget=step_budget)
        steps = 0
        gave_up: Node | None = None
        invalid_pools: dict[tuple[PoolId, str], None] = {}
        for at, node in enumerate(nodes):
            outcome = self._outcome_on(node, at, claims, question)
            steps += outcome.steps
            match outcome:
                case Allocated() | BrokenInput():
                    return found_on(node, outcome, tried=at + 1, steps=steps)
                case BudgetExhausted():
                    gave_up = gave_up or node
                case DoesNotFit():
                    invalid_pools |= dict.fromkeys(outcome.invalid_pools)
        if gave_up is not None:
            return FirstFit(None, BudgetExhausted(steps), len(nodes), gave_up)
        return FirstFit(None, DoesNotFit(steps, tuple(invalid_pools)), len(nodes))

    def _outcome_on(
        self, node: Node, at: int, claims: Sequence[ResourceClaim], question: Question
    ) -> Outcome:
        """Answer for one node, which probably is the one in the position `at`."""
        position: int | None = at
        if at >= len(self.nodes.nodes) or self.nodes.nodes[at] is not node:
            position = self.nodes.position_of(node.name)
        if position is None or self.nodes.nodes[position] != node:
            return self._search(question, claims, node)
        bit = 1 << position
        if question.open & bit and not self.leaves_out(question, position):
            return self.answer(question, claims, position)
        return BudgetExhausted(0) if question.exhausted & bit else self._misfit(position)

    def leaves_out(self, question: Question, position: int) -> bool:
        """Close the question for a node, and all others of its case, if that is known to fail."""
        cases = question.cases
        try:
            record = self.nodes.record(position)
            shape = cases.shapes.at(position, record)
            if shape in question.hopeless:
                question.close(cases.shapes.nodes_of(shape), is_exhausted=False)
                return True
            number = cases.number_at(position, record)
        except NodeSelectorError:
            return False
        solution = question.solutions.get(number)
        if solution is None or solution.claims is not None:
            return False
        question.close(cases.nodes_in(number), is_exhausted=solution.is_exhausted)
        return True

    def answer(self, question: Question, claims: Sequence[ResourceClaim], position: int) -> Outcome:
        """Answer for a node from what is known of nodes alike, or search it."""
        node = self.nodes.nodes[position]
        try:
            record = self.nodes.record(position)
            case = question.cases.of(position, record)
            solution = question.solutions.get(case.number)
            if solution is not None and solution.claims is not None:
                return solution.on(record, case.positions)
        except NodeSelectorError:
            return self._search(question, claims, node)
        outcome = self._search(question, claims, node)
        if not isinstance(outcome, BrokenInput):
            question.solutions[case.number] = solution_of(outcome, record, case.positions)
        if isinstance(outcome, DoesNotFit) and _is_hopeless(outcome, case, record):
            question.hopeless.add(question.cases.shapes.at(position, record))
        if isinstance(outcome, DoesNotFit | BudgetExhausted):
            question.close(1 << position, is_exhausted=isinstance(outcome, BudgetExhausted))
        return outcome

    def _search(self, question: Question, claims: Sequence[ResourceClaim], node: Node) -> Outcome:
        glance, self._glance = self._glance, None
        if glance is not None and glance.claims is claims and glance.node is node:
            return glance.outcome
        return search_node(self.index, claims, node=node, step_budget=question.step_budget)

    def _misfit(self, position: int) -> DoesNotFit:
        return DoesNotFit(0, self.nodes.invalid.get(position, ()))

    def classes_changed(self) -> None:
        """Forget all answers, since a class means something else now."""
        self._questions.forget()


def _is_hopeless(outcome: DoesNotFit, case: Case, record: Record) -> bool:
    """Tell whether a node that does not fit would not either with fewer devices free.

    Without mode All, admin access and counters, whatever a search tries with fewer devices, or
    with less of shared ones, it tries with all of them as well, broken input included. It has
    to have looked at each device once at most: a longer search may have left a branch for the
    claim's limit of devices that it would not leave with fewer. And one that was pruned may
    take more steps with fewer, and run out of them.
    """
    return (
        case.positions is not None
        and len(case.positions) == len(record.devices)
        and outcome.steps <= len(record.devices)
        and not outcome.is_pruned
    )
