"""Nodes of a roster that are not taken in their own order: in tiers, or by what they come to.

Nodes are given as bits, by their positions (`Register`).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar, cast

from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, DoesNotFit
from dra_console.allocator.search.fits import FirstFit, found_on
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.world.nodes import NodeSelectorError

V = TypeVar("V", bound=Hashable)

Judge: TypeAlias = Callable[
    [Roster, Record, Sequence[ResourceClaim], Sequence[AllocationResult]], V
]
"""Says what these claims' allocations on a node come to."""


@dataclass(frozen=True, slots=True)
class Judged(Generic[V]):
    """Nodes on which claims fit, by a value; `broken` ended the walk."""

    nodes: dict[V, int] = field(default_factory=dict)
    broken: BrokenInput | None = None


def first_fit_in(
    roster: Roster, tiers: Iterable[int], claims: Sequence[ResourceClaim], *, step_budget: int
) -> FirstFit:
    """Find the first node in the first of these tiers on which all claims fit.

    The best tier comes first; in a tier, nodes are tried by name. `tried` counts whole tiers,
    and `DoesNotFit` names no invalid pools.
    """
    question = roster.ask(claims, step_budget=step_budget)
    steps = tried = exhausted = 0
    for tier in tiers:
        nodes = tier & roster.nodes.present
        tried += nodes.bit_count()
        while left := nodes & question.open:
            bit = roster.nodes.first_of(left)
            position = bit.bit_length() - 1
            if roster.leaves_out(question, position):
                continue
            outcome = roster.answer(question, claims, position)
            steps += outcome.steps
            if isinstance(outcome, Allocated | BrokenInput):
                return found_on(roster.nodes.nodes[position], outcome, tried=tried, steps=steps)
        exhausted |= nodes & question.exhausted
    if exhausted:
        gave_up = roster.nodes.nodes[(exhausted & -exhausted).bit_length() - 1]
        return FirstFit(None, BudgetExhausted(steps), tried, gave_up)
    return FirstFit(None, DoesNotFit(steps), tried)


def fits_by(
    roster: Roster,
    judge: Judge[V],
    claims: Sequence[ResourceClaim],
    *,
    nodes: int,
    step_budget: int,
) -> Judged[V]:
    """Group those of the nodes on which all claims fit by what the allocation there comes to.

    `judge` must be pure and see no more of a node than its devices and how they are used: nodes
    that are alike are judged once, and what it said is kept as long as the question.
    """
    question = roster.ask(claims, step_budget=step_budget)
    judged = cast("dict[int, V]", question.judged.setdefault(judge, {}))
    found: dict[V, int] = {}
    left = nodes & roster.nodes.present & question.open
    while left := left & question.open:
        bit = left & -left
        position = bit.bit_length() - 1
        if roster.leaves_out(question, position):
            continue
        try:
            record = roster.nodes.record(position)
            number = question.cases.number_at(position, record)
        except NodeSelectorError as error:
            return Judged(found, BrokenInput(f"node selector of a ResourceSlice: {error}"))
        if number not in judged:
            outcome = roster.answer(question, claims, position)
            if isinstance(outcome, BrokenInput):
                return Judged(found, outcome)
            if not isinstance(outcome, Allocated):
                continue
            judged[number] = judge(roster, record, claims, outcome.results)
        alike = left & question.cases.nodes_in(number)
        value = judged[number]
        found[value] = found.get(value, 0) | alike
        left &= ~alike
    return Judged(found)
