"""What is asked, and what is known of the answers."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dra_console.allocator.model import ClaimSpec, ResourceClaim
from dra_console.allocator.search.cases import Cases
from dra_console.allocator.search.change_log import ChangeLog
from dra_console.allocator.search.records import Uses
from dra_console.allocator.search.signatures import sight_of
from dra_console.allocator.search.solutions import Solution
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.view import View

QUESTIONS_LIMIT: Final = 512
CASES_KEPT: Final = 16
"""Ways to look at nodes; a cluster has a handful."""

Key: TypeAlias = tuple[tuple[ClaimSpec, ...], int]


@dataclass(slots=True, eq=False)
class Question:
    """Claims that are asked about, and what is known of the answers, node by node."""

    step_budget: int
    """For each node."""

    cases: Cases
    open: int
    """Bit N is unset if node N is known not to fit, or to exhaust the budget."""

    exhausted: int = 0
    solutions: dict[int, Solution] = field(default_factory=dict)
    """By the number of the case. Positions are those that the case counts."""

    judged: dict[Hashable, dict[int, Hashable]] = field(default_factory=dict)
    """What solutions come to, by who judges and by the number of the case (`selecting`)."""

    hopeless: set[int] = field(default_factory=set)
    """Shapes of nodes that do not fit even with all their devices free."""

    def changed(self, nodes: int) -> None:
        """Look at these nodes again."""
        self.open |= nodes
        if self.exhausted:
            self.exhausted &= ~nodes

    def close(self, nodes: int, *, is_exhausted: bool) -> None:
        """Leave these nodes out until they change."""
        self.open &= ~nodes
        if is_exhausted:
            self.exhausted |= nodes


class Questions:
    """The questions of one index that were asked lately."""

    __slots__ = ("_by_identity", "_cases", "_index", "_known", "_log", "_renewals", "_uses")

    def __init__(self, index: Index, uses: Uses, *, log: ChangeLog, renewals: ChangeLog) -> None:
        """Take the world, and what is noted of nodes: any change, and that they are others."""
        self._index: Final = index
        self._uses: Final = uses
        self._log: Final = log
        self._renewals: Final = renewals
        self._known: Final[dict[Key, Question]] = {}
        self._by_identity: Final[dict[tuple[int, ...], Key]] = {}
        """Found without a look into the specs, as far as the same objects ask again."""
        self._cases: Final[dict[tuple[View, bool], Cases]] = {}

    def ask(self, claims: Sequence[ResourceClaim], *, step_budget: int, nodes: int) -> Question:
        """Return what is known of the answers now; `nodes` are all, as bits."""
        identity = (step_budget, *[id(claim.spec) for claim in claims])
        key = self._by_identity.get(identity)
        if key is None:
            key = (tuple([claim.spec for claim in claims]), step_budget)
            if len(self._by_identity) >= QUESTIONS_LIMIT:
                self._by_identity.clear()
            self._by_identity[identity] = key
        question = self._known.get(key)
        if question is not None and question.cases.are_too_many:
            self._start_over(question.cases)
            question = None
        if question is None:
            question = self._known[key] = self._new(claims, step_budget=step_budget, nodes=nodes)
        self._renewals.catch_up(question.cases.shapes)
        self._log.catch_up(question.cases)
        self._log.catch_up(question)
        return question

    def forget(self) -> None:
        """Forget all that was asked."""
        for question in self._known.values():
            self._log.unfollow(question)
        self._known.clear()

    def _new(self, claims: Sequence[ResourceClaim], *, step_budget: int, nodes: int) -> Question:
        if len(self._known) >= QUESTIONS_LIMIT:
            self._log.unfollow(self._known.pop(next(iter(self._known))))
        sight = sight_of(claims, classes=self._index.classes)
        view = self._index.views.covering(sight.reads, compares_capacity=sight.compares_capacity)
        way = (view, sight.looks_at_held_devices)
        cases = self._cases.get(way)
        if cases is None:
            if len(self._cases) >= CASES_KEPT:
                self._start_over(next(iter(self._cases.values())))
            cases = Cases(view, self._uses, sees_held=sight.looks_at_held_devices)
            self._cases[way] = cases
            self._log.follow(cases)
            self._renewals.follow(cases.shapes)
        question = Question(step_budget, cases, open=nodes)
        self._log.follow(question)
        return question

    def _start_over(self, cases: Cases) -> None:
        """Forget a way to look at nodes, and the questions that do."""
        self._log.unfollow(cases)
        self._renewals.unfollow(cases.shapes)
        for way in [way for way, each in self._cases.items() if each is cases]:
            del self._cases[way]
        for key in [key for key, each in self._known.items() if each.cases is cases]:
            self._log.unfollow(self._known.pop(key))
