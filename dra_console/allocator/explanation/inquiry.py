"""One set of claims in one world: search, and say what came of it, class by class."""

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from dra_console.allocator.explanation import wording
from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.explanation import (
    ChosenDevice,
    ExplainedOutcome,
    Explanation,
    Together,
)
from dra_console.allocator.explanation.findings import Finder, Finding
from dra_console.allocator.explanation.groups import NodeDevices, NodeGroup
from dra_console.allocator.explanation.holders import in_the_way
from dra_console.allocator.explanation.judgements import (
    DriftingDevice,
    Judgements,
    NodeClass,
)
from dra_console.allocator.explanation.standings import standing_of
from dra_console.allocator.explanation.suggestions import Adviser
from dra_console.allocator.explanation.unknown_names import unknown_names
from dra_console.allocator.explanation.verdicts import RANKS, Judgement, Verdict, counts_of
from dra_console.allocator.inventory import DeviceId, Node, Taint
from dra_console.allocator.model import AllocationResult, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import PublishedDevice

FINDING_STEPS: Final = 20_000
"""Effort to find out which constraints are to blame, over all classes of nodes."""

NODES_TRIED: Final = 8
"""Of those that can use a device that somebody else holds."""

NOTHING_CHOSEN: Final[Mapping[DeviceId, str]] = MappingProxyType({})

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

    def allocated(self) -> Explanation:
        """Explain claims that have their devices."""
        results = [claim.allocation for claim in self.claims if claim.allocation is not None]
        is_bound = any(result.node_selector is not None for result in results)
        name = self.nodes[0].name if is_bound and self.nodes else None
        return self._fits(results, node_name=name, steps=0, verb="Allocated")

    def pending(self, step_budget: int) -> Explanation:
        """Search, and explain what came of it."""
        found = first_fit(self.index, self.claims, nodes=self.nodes, step_budget=step_budget)
        steps = found.outcome.steps
        match found.outcome:
            case Allocated(results):
                name = found.node.name if found.node else None
                return self._fits(results, node_name=name, steps=steps, verb="Fits")
            case BrokenInput() as broken:
                headline = wording.broken(broken, self.claims, self._evidence(broken.device))
                return self._unanswered(ExplainedOutcome.BROKEN, headline, steps=steps)
            case BudgetExhausted():
                headline = f"The search ended without an answer after {steps} steps."
                return self._unanswered(ExplainedOutcome.BUDGET, headline, steps=steps)
            case _:
                return self._does_not_fit(steps=steps)

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
            detail=wording.funnel(self._counts()),
            node=node_name,
            groups=(
                *self._chosen_group(node_name, requests, summary=f"chosen: {devices}"),
                *self._plain_groups(without=node_name, requests=requests),
            ),
            usage=self.index.usage,
            chosen=chosen,
            steps=steps,
        )

    def _chosen_group(
        self, node_name: str | None, requests: Mapping[DeviceId, str], *, summary: str
    ) -> Iterator[NodeGroup]:
        for each in self.classes:
            for place in each.places:
                if place.node.name == node_name and place.devices:
                    judgements = _chosen(place.devices, each.judgements, requests)
                    yield NodeGroup("fits", summary, judgements, (place,))

    def _unanswered(self, outcome: ExplainedOutcome, headline: str, *, steps: int) -> Explanation:
        return Explanation(
            outcome=outcome,
            headline=headline,
            detail=self._detail(),
            node=None,
            groups=tuple(self._plain_groups()),
            usage=self.index.usage,
            steps=steps,
        )

    def _does_not_fit(self, *, steps: int) -> Explanation:
        findings = self._findings()
        order = {node.name: number for number, node in enumerate(self.nodes)}
        nearest = {each: min(order[place.name] for place in each.places) for each in findings}
        ranked = sorted(findings, key=lambda each: (findings[each].rank, nearest[each]))
        closest = [self.nodes[nearest[each]] for each in ranked]
        headline, together = self._headline(findings, ranked, closest)
        adviser = Adviser(
            self.index,
            self.all_claims,
            self.claims,
            self._one_of_each(closest, ranked),
            Effort(ADVICE_STEPS),
        )
        suggestions = adviser.advise(
            taints=self._taints(), in_the_way=in_the_way(self.index.usage, self._taken(ranked))
        )
        return Explanation(
            outcome=ExplainedOutcome.DOES_NOT_FIT,
            headline=headline,
            detail=self._detail(together),
            node=None,
            groups=(
                *(_group(each, findings[each]) for each in ranked if each.judgements),
                *self._plain_groups(but=findings),
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

    def _one_of_each(self, closest: Sequence[Node], ranked: Sequence[NodeClass]) -> Sequence[Node]:
        """Choose nodes whose contents differ, since the others answer alike."""
        chosen: dict[Hashable, Node] = {}
        for node, each in zip(closest, ranked, strict=True):
            chosen.setdefault(self.judgements.contents(each.first), node)
        return tuple(chosen.values())

    def _headline(
        self,
        findings: Mapping[NodeClass, Finding],
        ranked: Sequence[NodeClass],
        closest: Sequence[Node],
    ) -> tuple[str, Together | None]:
        """Say what decides, and the last step of the funnel if that is a matter of a set."""
        counts = self._counts()
        if not any(counts.values()):
            return "No node publishes any device.", None
        if not ranked:
            reasons = sorted(set(self.left_out.values()))
            reason = "; ".join(reasons) or "none is there"
            return wording.sentence(f"no node may be used: {reason}"), None
        finding, name = findings[ranked[0]], closest[0].name
        free = counts[Verdict.FREE]
        together = Together(free, name, finding.reason, finding.evidence)
        if finding.standing is None:
            return wording.sentence(wording.free_but(free, finding.together)), together
        want = finding.standing.want
        everywhere = standing_of(
            want, self.judgements.everywhere(want, self.classes, self.drifting)
        )
        text = wording.headline(everywhere, closest=finding.standing, node_name=name)
        is_one_of_several = len(self.judgements.judge.wants) > 1
        if is_one_of_several:
            text = f"{self.judgements.judge.name_of(want)}: {text}"
        return wording.sentence(text), together if everywhere.is_enough else None

    def _evidence(self, device_id: DeviceId | None) -> str:
        """Say which clause of which selector fails on a device."""
        if device_id is None:
            return ""
        pool = self.index.inventory.pool(device_id.pool_id)
        for published in (each for slice_ in pool.slices for each in slice_.devices):
            judgement = self.judgements.of(published)
            if published.id == device_id and judgement.verdict is Verdict.SELECTOR_ERROR:
                return judgement.evidence
        return ""

    def _taints(self) -> tuple[Taint, ...]:
        """List the different taints that keep devices away, as they are met."""
        taints: dict[tuple[str, str, str], Taint] = {}
        for published, judgement in self._seen():
            if judgement.verdict is Verdict.TAINTED:
                for taint in published.taints:
                    taints.setdefault((taint.key, taint.value, taint.effect), taint)
        return tuple(taints.values())

    def _taken(self, ranked: Sequence[NodeClass]) -> Iterator[tuple[DeviceId, tuple[Node, ...]]]:
        """Walk the taken devices with the nodes that could use them, the closest first."""
        for each in ranked:
            for place in each.places:
                for published, judgement in zip(place.devices, each.judgements, strict=True):
                    if judgement.verdict is Verdict.TAKEN:
                        yield published.id, (place.node,)
        by_name = {node.name: node for node in self.nodes}
        for device in self.drifting:
            if device.judgement.verdict is Verdict.TAKEN:
                usable_on = [by_name[name] for name in device.adrift.usable_on if name in by_name]
                yield device.published.id, tuple(usable_on[:NODES_TRIED])

    def _detail(self, together: Together | None = None) -> str:
        """Add up the verdicts, after what the selectors read and no device has."""
        facts = [published.facts for published, _ in self._seen()]
        unknown = unknown_names(self.judgements.judge.wants, facts) if facts else ()
        words = [*map(wording.unknown, unknown), wording.funnel(self._counts())]
        if together is not None:
            words.append(wording.together(together))
        return " ".join(words)

    def _seen(self) -> Iterator[tuple[PublishedDevice, Judgement]]:
        """Walk one device of each kind at least."""
        for each in self.classes:
            yield from zip(each.first.devices, each.judgements, strict=True)
        for device in self.drifting:
            yield device.published, device.judgement

    def _counts(self) -> Mapping[Verdict, int]:
        of_classes = (
            (judgement, len(each.places)) for each in self.classes for judgement in each.judgements
        )
        return counts_of(chain(of_classes, ((each.judgement, 1) for each in self.drifting)))

    def _plain_groups(
        self,
        *,
        but: Container[NodeClass] = (),
        without: str | None = None,
        requests: Mapping[DeviceId, str] = NOTHING_CHOSEN,
    ) -> Iterator[NodeGroup]:
        """Group nodes about whose sets of devices there is nothing to say; no node comes last."""
        for each in self.classes:
            places = each.places
            if without is not None:
                places = tuple(place for place in places if place.name != without)
            if each not in but and places and each.judgements:
                yield _plain(each.judgements, places)
        if self.drifting:
            devices = tuple(each.published for each in self.drifting)
            judgements = tuple(each.judgement for each in self.drifting)
            yield _plain(_chosen(devices, judgements, requests), (NodeDevices("", devices),))


def _group(each: NodeClass, finding: Finding) -> NodeGroup:
    return NodeGroup(finding.reason, finding.summary, each.judgements, each.places)


def _plain(judgements: tuple[Judgement, ...], nodes: tuple[NodeDevices, ...]) -> NodeGroup:
    counts = counts_of((judgement, 1) for judgement in judgements)
    furthest = max((verdict for verdict in Verdict if counts[verdict]), key=RANKS.__getitem__)
    return NodeGroup(furthest.value, f"{counts[Verdict.FREE]} free", judgements, nodes)


def _chosen(
    devices: Sequence[PublishedDevice],
    judgements: Sequence[Judgement],
    requests: Mapping[DeviceId, str],
) -> tuple[Judgement, ...]:
    """Say of the chosen devices what they were chosen for."""
    return tuple(
        replace(judgement, evidence=f"chosen for request {requests[published.id]}")
        if published.id in requests
        else judgement
        for published, judgement in zip(devices, judgements, strict=True)
    )
