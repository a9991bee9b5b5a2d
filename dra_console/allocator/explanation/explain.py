"""Why do these claims fit, or why do they not: the answer for one pod over all nodes.

The search says whether; this module looks at the same world again and says why. Every
device of every pool gets exactly one verdict, every node a finding about its set of
devices, and the headline is the finding of the node that came closest. What is reported as
missing is what is missing there, with the numbers of all nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.explanation import wording
from dra_console.allocator.explanation.explanation import (
    ChosenDevice,
    ExplainedOutcome,
    Explanation,
    NodeAccount,
    Suggestion,
)
from dra_console.allocator.explanation.findings import Finder, Finding, standing_of
from dra_console.allocator.explanation.suggestions import Adviser
from dra_console.allocator.explanation.unknown_names import unknown_names
from dra_console.allocator.explanation.verdicts import DeviceVerdict, Judge, Verdict, count_verdicts
from dra_console.allocator.explanation.whereabouts import Whereabouts, locate
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import AllocationResult, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, Outcome
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET, search_node
from dra_console.allocator.search.state import ledger_of
from dra_console.allocator.search.wants import wants_of
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import NodeSelectorError, reaches, selects
from dra_console.allocator.world.pools import PoolStatus, PublishedDevice

__all__ = ["ExplainedOutcome", "Explanation", "NodeAccount", "Suggestion", "explain"]


NOBODY_LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType({})


def explain(
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    *,
    node_names: Sequence[str] | None = None,
    left_out: Mapping[str, str] = NOBODY_LEFT_OUT,
    rules: Rules = DEFAULT_RULES,
) -> Explanation:
    """Explain a pod's claims together, on the named nodes or on all.

    Nodes are tried in the order of `node_names`. `left_out` says of nodes, by name, why the
    pod cannot run there whatever devices they have; they are not tried. Claims that are
    allocated already bind the others to the nodes on which they can be used; if all are,
    their devices are the answer.
    """
    try:
        return _explain(snapshot, claims, node_names, left_out, rules)
    except NodeSelectorError as error:
        headline = f"A node selector of a ResourceSlice or of an allocation is malformed: {error}"
        return Explanation(ExplainedOutcome.BROKEN, headline, detail="", node=None, nodes=())


def _explain(
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    node_names: Sequence[str] | None,
    left_out: Mapping[str, str],
    rules: Rules,
) -> Explanation:
    allocated = [claim for claim in claims if claim.allocation is not None]
    pending = [claim for claim in claims if claim.allocation is None]
    by_name = {node.name: node for node in snapshot.nodes}
    names = list(by_name) if node_names is None else node_names
    nodes = [
        by_name[name]
        for name in names
        if name in by_name
        and name not in left_out
        and all(_is_usable(claim, by_name[name]) for claim in allocated)
    ]
    index = index_of(snapshot, rules=rules)
    if allocated and not pending:
        own = {claim.key for claim in allocated}
        others = [claim for claim in snapshot.claims if claim.key not in own]
        inquiry = _inquire(snapshot, index.with_claims(others), allocated, nodes, left_out)
        return inquiry.allocated()
    return _inquire(snapshot, index, pending, nodes, left_out).pending()


def _is_usable(claim: ResourceClaim, node: Node) -> bool:
    selector = claim.allocation.node_selector if claim.allocation else None
    return selector is None or selects(selector, node=node)


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """One set of claims in one world; `nodes` are those that may be used, in order."""

    snapshot: Snapshot
    index: Index
    claims: Sequence[ResourceClaim]
    nodes: Sequence[Node]
    left_out: Mapping[str, str]
    judge: Judge
    whereabouts: Sequence[Whereabouts]
    verdicts: Sequence[DeviceVerdict]

    def allocated(self) -> Explanation:
        """Explain claims that have their devices."""
        results = [claim.allocation for claim in self.claims if claim.allocation is not None]
        is_bound = any(result.node_selector is not None for result in results)
        name = self.nodes[0].name if is_bound and self.nodes else None
        return self._fits(results, node_name=name, steps=0, verb="Allocated")

    def pending(self) -> Explanation:
        """Search, and explain what came of it."""
        outcomes = self._outcomes()
        steps = sum(outcome.steps for outcome in outcomes.values())
        for name, outcome in outcomes.items():
            if isinstance(outcome, Allocated):
                return self._fits(outcome.results, node_name=name, steps=steps, verb="Fits")
            if isinstance(outcome, BrokenInput):
                return self._unanswered(ExplainedOutcome.BROKEN, outcome.message, steps=steps)
        for name, outcome in outcomes.items():
            if isinstance(outcome, BudgetExhausted):
                headline = f"The search on {name} ended without an answer."
                return self._unanswered(ExplainedOutcome.BUDGET, headline, steps=steps)
        return self._does_not_fit(steps=steps)

    def _outcomes(self) -> Mapping[str, Outcome]:
        """Search node by node until the claims fit or are found to be broken."""
        outcomes: dict[str, Outcome] = {}
        for node in self.nodes:
            outcome = search_node(
                self.index, self.claims, node=node, step_budget=DEFAULT_STEP_BUDGET
            )
            outcomes[node.name] = outcome
            if isinstance(outcome, Allocated | BrokenInput):
                break
        return outcomes

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
        accounts = [
            NodeAccount(name, "fits", f"chosen: {devices}", verdicts)
            if name == node_name
            else _plain_account(name, verdicts)
            for name, verdicts in self._by_node().items()
        ]
        return Explanation(
            outcome=ExplainedOutcome.FITS,
            headline=f"{verb}{where}: {devices}.",
            detail=wording.funnel(count_verdicts(self.verdicts)),
            node=node_name,
            nodes=tuple(sorted(accounts, key=lambda account: account.reason != "fits")),
            chosen=chosen,
            steps=steps,
        )

    def _unanswered(self, outcome: ExplainedOutcome, headline: str, *, steps: int) -> Explanation:
        return Explanation(
            outcome=outcome,
            headline=headline,
            detail=self._detail(),
            node=None,
            nodes=tuple(_plain_account(*each) for each in self._by_node().items()),
            steps=steps,
        )

    def _does_not_fit(self, *, steps: int) -> Explanation:
        finder = Finder(self.index, self.claims, self.judge)
        findings = {
            node.name: finder.find(node, _usable_devices(self.index, node)) for node in self.nodes
        }
        closest = sorted(self.nodes, key=lambda node: findings[node.name].closeness, reverse=True)
        ranks = {node.name: rank for rank, node in enumerate(closest)}
        by_node = self._by_node()
        accounts = [
            NodeAccount(name, findings[name].reason, findings[name].summary, verdicts)
            if name in findings
            else _plain_account(name, verdicts)
            for name, verdicts in by_node.items()
        ]
        adviser = Adviser(self.index, self.snapshot.claims, self.claims, closest)
        return Explanation(
            outcome=ExplainedOutcome.DOES_NOT_FIT,
            headline=self._headline(findings, closest),
            detail=self._detail(),
            node=None,
            nodes=tuple(sorted(accounts, key=lambda each: ranks.get(each.name, len(ranks)))),
            suggestions=tuple(adviser.advise(self.verdicts)),
            steps=steps,
        )

    def _detail(self) -> str:
        """Add up the verdicts, after what the selectors read and no device has."""
        facts = [each.published.facts for each in self.whereabouts]
        unknown = unknown_names(self.judge.wants, facts) if facts else ()
        return " ".join(
            [*map(wording.unknown, unknown), wording.funnel(count_verdicts(self.verdicts))]
        )

    def _headline(self, findings: Mapping[str, Finding], closest: Sequence[Node]) -> str:
        if not self.verdicts:
            return "No node publishes any device."
        if not closest:
            reasons = sorted(set(self.left_out.values()))
            return _sentence(f"no node may be used: {'; '.join(reasons) or 'none is there'}")
        finding = findings[closest[0].name]
        if finding.standing is None:
            free = count_verdicts(self.verdicts)[Verdict.FREE]
            return _sentence(wording.free_but(free, finding.together))
        want = finding.standing.want
        everywhere = standing_of(
            want,
            (
                self.judge.judge_for(want, each.published, out_of_reach=each.out_of_reach)
                for each in self.whereabouts
            ),
        )
        text = wording.headline(everywhere, closest=finding.standing, node_name=closest[0].name)
        is_one_of_several = len(self.judge.wants) > 1
        return _sentence(f"request {want.label}: {text}" if is_one_of_several else text)

    def _by_node(self) -> Mapping[str, tuple[DeviceVerdict, ...]]:
        """Group the verdicts; devices without a node of their own come last."""
        groups: dict[str, list[DeviceVerdict]] = {node.name: [] for node in self.snapshot.nodes}
        groups[""] = []
        for where, verdict in zip(self.whereabouts, self.verdicts, strict=True):
            groups[where.node_name].append(verdict)
        return {name: tuple(verdicts) for name, verdicts in groups.items() if verdicts}


def _inquire(
    snapshot: Snapshot,
    index: Index,
    claims: Sequence[ResourceClaim],
    nodes: Sequence[Node],
    left_out: Mapping[str, str],
) -> _Inquiry:
    judge = Judge(
        wants=[want for claim in claims for want in wants_of(claim, classes=index.classes)],
        matcher=Matcher(default_engine(), index.usage),
        ledgers={
            pool.id: ledger_of(pool, usage=index.usage)
            for node in snapshot.nodes
            for pool in index.inventory.pools_on(node)
            if pool.counters
        },
    )
    whereabouts = locate(
        index.inventory,
        nodes=snapshot.nodes,
        considered=(node.name for node in nodes),
        left_out=left_out,
    )
    return _Inquiry(
        snapshot,
        index,
        claims,
        nodes,
        left_out,
        judge,
        whereabouts,
        [judge.judge(each.published, out_of_reach=each.out_of_reach) for each in whereabouts],
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _usable_devices(index: Index, node: Node) -> Sequence[PublishedDevice]:
    return [
        published
        for pool in index.inventory.pools_on(node)
        if pool.status is PoolStatus.READY
        for published in pool.devices
        if not published.is_reach_own or reaches(published.reach, node=node)
    ]


def _plain_account(name: str, verdicts: Iterable[DeviceVerdict]) -> NodeAccount:
    """Account for a node about whose set of devices there is nothing to say."""
    verdicts = tuple(verdicts)
    counts = count_verdicts(verdicts)
    furthest = max((verdict for verdict in Verdict if counts[verdict]), key=list(Verdict).index)
    return NodeAccount(name, furthest.value, f"{counts[Verdict.FREE]} free", verdicts)
