"""One set of claims in one world: search, and say what came of it, class by class."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.explanation import wording
from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.explanation import (
    ChosenDevice,
    ExplainedOutcome,
    Explanation,
    Suggestion,
)
from dra_console.allocator.explanation.findings import Finder, Finding
from dra_console.allocator.explanation.grouping import chosen_groups, group_of, plain_groups, seen
from dra_console.allocator.explanation.holders import Holder, in_the_way
from dra_console.allocator.explanation.judgements import DriftingDevice, Judgements, NodeClass
from dra_console.allocator.explanation.obstacles import taints_in_the_way, taken_devices
from dra_console.allocator.explanation.sentences import Sentences
from dra_console.allocator.explanation.spoilers import spoiler
from dra_console.allocator.explanation.suggestions import Adviser
from dra_console.allocator.inventory import Node, Taint
from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import Index

FINDING_STEPS: Final = 20_000
"""Effort to find out which constraints are to blame, over all classes of nodes."""

ADVICE_STEPS: Final = 60_000
"""Effort to find changes that help, over all of them."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """`nodes` are those that may be used, in order; `classes` and `drifting` hold all devices."""

    index: Index
    all_claims: Sequence[ResourceClaim]
    claims: Sequence[ResourceClaim]
    nodes: Sequence[Node]
    left_out: Mapping[str, str]
    judgements: Judgements
    classes: Sequence[NodeClass]
    drifting: Sequence[DriftingDevice]

    @property
    def sentences(self) -> Sentences:
        """What there is to say of all devices."""
        return Sentences(self.index, self.judgements, self.classes, self.drifting)

    def allocated(self) -> Explanation:
        """Explain claims that have their devices."""
        results = [claim.allocation for claim in self.claims if claim.allocation is not None]
        is_bound = any(result.node_selector is not None for result in results)
        name = self.nodes[0].name if is_bound and self.nodes else None
        return self._fits(results, node_name=name, steps=0, verb="Allocated")

    def refused(self) -> Explanation:
        """Explain claims that are known not to fit; no changes are tried."""
        return self._does_not_fit(steps=0, advises=False)

    def pending(self, step_budget: int) -> Explanation:
        """Search, and explain what came of it."""
        found = first_fit(self.index, self.claims, nodes=self.nodes, step_budget=step_budget)
        steps = found.outcome.steps
        match found.outcome:
            case Allocated(results):
                if found.node and (broken := self._spoiler(found.node)):
                    return self._spoiled(broken, fits_on=found.node.name, steps=steps)
                name = found.node.name if found.node else None
                return self._fits(results, node_name=name, steps=steps, verb="Fits")
            case BrokenInput() as broken:
                headline = self.sentences.broken(broken, self.claims)
                return self._unanswered(
                    ExplainedOutcome.BROKEN, headline, steps=steps, suggestions=self._repairs()
                )
            case BudgetExhausted():
                headline = f"The search ended without an answer after {steps} steps."
                return self._unanswered(ExplainedOutcome.BUDGET, headline, steps=steps)
            case _:
                return self._does_not_fit(steps=steps, advises=True)

    def _fits(
        self,
        results: Sequence[AllocationResult],
        *,
        node_name: str | None,
        steps: int,
        verb: str,
    ) -> Explanation:
        chosen = tuple(
            ChosenDevice(claim.key, device.request, device.device_id)
            for claim, result in zip(self.claims, results, strict=True)
            for device in result.results
        )
        devices = wording.names([each.device_id for each in chosen])
        where = f" on {node_name}" if node_name else ""
        requests = {each.device_id: each.request for each in chosen}
        return Explanation(
            outcome=ExplainedOutcome.FITS,
            headline=f"{verb}{where}: {devices}.",
            detail=wording.funnel(self.sentences.counts),
            node=node_name,
            groups=(
                *chosen_groups(self.classes, node_name, requests, summary=f"chosen: {devices}"),
                *plain_groups(self.classes, self.drifting, without=node_name, requests=requests),
            ),
            usage=self.index.usage,
            chosen=chosen,
            steps=steps,
        )

    def _spoiler(self, fits_on: Node) -> BrokenInput | None:
        count = len(self.nodes) + len(self.left_out)
        return spoiler(self.index, self.claims, classes=self.classes, fits_on=fits_on, nodes=count)

    def _spoiled(self, broken: BrokenInput, *, fits_on: str, steps: int) -> Explanation:
        """Explain what would fit if kube-scheduler did not meet an error on another node."""
        headline = self.sentences.broken(broken, self.claims)
        return self._unanswered(
            ExplainedOutcome.BROKEN,
            f"{headline} {wording.spoiled(fits_on)}",
            steps=steps,
        )

    def _unanswered(
        self,
        outcome: ExplainedOutcome,
        headline: str,
        *,
        steps: int,
        suggestions: Iterable[Suggestion] = (),
    ) -> Explanation:
        return Explanation(
            outcome=outcome,
            headline=headline,
            detail=self.sentences.detail(),
            node=None,
            groups=tuple(plain_groups(self.classes, self.drifting)),
            usage=self.index.usage,
            suggestions=tuple(suggestions),
            steps=steps,
        )

    def _repairs(self) -> Iterator[Suggestion]:
        """Try changes of broken claims: one clause less may be all that is needed."""
        classes = [each for each in self.classes if each.is_considered]
        return self._advise(classes, [each.first.node for each in classes])

    def _does_not_fit(self, *, steps: int, advises: bool) -> Explanation:
        findings = self._findings()
        order = {node.name: number for number, node in enumerate(self.nodes)}
        firsts = {each: min(order[place.name] for place in each.places) for each in findings}
        ranked = sorted(findings, key=lambda each: (findings[each].rank, firsts[each]))
        closest = [self.nodes[firsts[each]] for each in ranked]
        nearest = (findings[ranked[0]], closest[0].name) if ranked else None
        headline, together = self.sentences.headline(nearest, left_out=self.left_out)
        suggestions: Iterable[Suggestion] = ()
        if advises:
            suggestions = self._advise(
                ranked,
                closest,
                taints=taints_in_the_way(
                    seen(self.classes, self.drifting), added=self.index.added_taints
                ),
                holders=in_the_way(
                    self.index.usage, taken_devices(ranked, self.drifting, nodes=self.nodes)
                ),
            )
        return Explanation(
            outcome=ExplainedOutcome.DOES_NOT_FIT,
            headline=headline,
            detail=self.sentences.detail(together),
            node=None,
            groups=(
                *(group_of(each, findings[each]) for each in ranked if each.judgements),
                *plain_groups(self.classes, self.drifting, but=findings),
            ),
            usage=self.index.usage,
            together=together,
            suggestions=tuple(suggestions),
            steps=steps,
        )

    def _findings(self) -> dict[NodeClass, Finding]:
        """Look once at nodes whose devices differ in their order alone."""
        finder = Finder(self.index, self.claims, self.judgements, Effort(FINDING_STEPS))
        known: dict[Hashable, Finding] = {}
        findings: dict[NodeClass, Finding] = {}
        for each in self.classes:
            if each.is_considered:
                key = self.judgements.contents(each.first)
                if key not in known:
                    known[key] = finder.find(each.first)
                findings[each] = known[key]
        return findings

    def _advise(
        self,
        classes: Sequence[NodeClass],
        nodes: Sequence[Node],
        *,
        taints: Sequence[Taint] = (),
        holders: Iterable[Holder] = (),
    ) -> Iterator[Suggestion]:
        """Try changes on one node of each class whose contents differ: the others answer alike.

        `nodes` are one of each class, in the order in which they came close.
        """
        chosen: dict[Hashable, Node] = {}
        for each, node in zip(classes, nodes, strict=True):
            chosen.setdefault(self.judgements.contents(each.first), node)
        adviser = Adviser(
            self.index,
            self.all_claims,
            self.claims,
            self.nodes,
            tuple(chosen.values()),
            Effort(ADVICE_STEPS),
        )
        return adviser.advise(taints=taints, in_the_way=holders)
