"""Why do these claims fit, or why do they not: the answer for one pod over all nodes.

The search says whether; this module looks at the same world again and says why. Every
device of every pool gets exactly one verdict, every node a finding about its set of
devices, and the headline is the finding of the node that came closest. What is reported as
missing is what is missing there, with the numbers of all nodes.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.explanation.explanation import (
    ExplainedOutcome,
    Explanation,
    NodeAccount,
    Suggestion,
)
from dra_console.allocator.explanation.holdings import holdings_of
from dra_console.allocator.explanation.inquiry import Inquiry
from dra_console.allocator.explanation.judge import Judge
from dra_console.allocator.explanation.judgements import Judgements
from dra_console.allocator.explanation.places import places_of
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.search.signatures import sight_of
from dra_console.allocator.search.wants import wants_of
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import NodeSelectorError, selects
from dra_console.allocator.world.view import View

__all__ = [
    "ExplainedOutcome",
    "Explanation",
    "NodeAccount",
    "Suggestion",
    "explain",
    "explain_misfit",
]


NOBODY_LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType({})


def explain(  # noqa: PLR0913  what a pod is asked with, each by name
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    *,
    node_names: Sequence[str] | None = None,
    left_out: Mapping[str, str] = NOBODY_LEFT_OUT,
    rules: Rules = DEFAULT_RULES,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> Explanation:
    """Explain a pod's claims together, on the named nodes or on all.

    Nodes are tried in the order of `node_names`. `left_out` says of nodes, by name, why the
    pod cannot run there whatever devices they have; they are not tried. Claims that are
    allocated already bind the others to the nodes on which they can be used; if all are,
    their devices are the answer. `step_budget` bounds the search on one node.
    """
    try:
        return _explain(snapshot, claims, node_names, left_out, rules, step_budget)
    except NodeSelectorError as error:
        return _malformed(error)


def explain_misfit(
    index: Index,
    claims: Sequence[ResourceClaim],
    *,
    nodes: Sequence[Node],
    left_out: Mapping[str, str] = NOBODY_LEFT_OUT,
) -> Explanation:
    """Explain claims that are known not to fit, where devices are used as the index has it.

    They are not searched for once more, and no changes are suggested. `nodes` are those that may
    be used, in order; `left_out` says why others may not.
    """
    try:
        return _inquire(index, (), claims, nodes, left_out).refused()
    except NodeSelectorError as error:
        return _malformed(error)


def _malformed(error: NodeSelectorError) -> Explanation:
    headline = f"A node selector of a ResourceSlice or of an allocation is malformed: {error}"
    return Explanation(ExplainedOutcome.BROKEN, headline, detail="", node=None, groups=())


def _explain(  # noqa: PLR0913, PLR0917  see explain
    snapshot: Snapshot,
    claims: Sequence[ResourceClaim],
    node_names: Sequence[str] | None,
    left_out: Mapping[str, str],
    rules: Rules,
    step_budget: int,
) -> Explanation:
    allocated = [claim for claim in claims if claim.allocation is not None]
    pending = [claim for claim in claims if claim.allocation is None]
    reasons = dict(left_out)
    for claim in allocated:
        elsewhere = f"claim {claim.name} is allocated on another node"
        reasons |= {node.name: elsewhere for node in snapshot.nodes if not _is_usable(claim, node)}
    by_name = {node.name: node for node in snapshot.nodes if node.name not in reasons}
    names = list(by_name) if node_names is None else node_names
    nodes = [by_name[name] for name in names if name in by_name]
    index = index_of(snapshot, rules=rules)
    if allocated and not pending:
        own = {claim.key for claim in allocated}
        others = [claim for claim in snapshot.claims if claim.key not in own]
        inquiry = _inquire(index.with_claims(others), snapshot.claims, allocated, nodes, reasons)
        return inquiry.allocated()
    return _inquire(index, snapshot.claims, pending, nodes, reasons).pending(step_budget)


def _is_usable(claim: ResourceClaim, node: Node) -> bool:
    selector = claim.allocation.node_selector if claim.allocation else None
    return selector is None or selects(selector, node=node)


def _view(index: Index, claims: Sequence[ResourceClaim]) -> View:
    """Return the view in which the search itself sees devices for these claims."""
    sight = sight_of(claims, classes=index.classes)
    return index.views.covering(sight.reads, compares_capacity=sight.compares_capacity)


def _inquire(
    index: Index,
    all_claims: Sequence[ResourceClaim],
    claims: Sequence[ResourceClaim],
    nodes: Sequence[Node],
    left_out: Mapping[str, str],
) -> Inquiry:
    wants = [want for claim in claims for want in wants_of(claim, classes=index.classes)]
    holdings = holdings_of(index)
    judge = Judge(
        wants, Matcher(default_engine(), index.usage, index.added_taints, index.rules), holdings
    )
    judgements = Judgements(judge, _view(index, claims), holdings)
    places = places_of(index.inventory, index.nodes)
    considered = frozenset(node.name for node in nodes)
    return Inquiry(
        index=index,
        all_claims=all_claims,
        claims=claims,
        nodes=nodes,
        left_out=left_out,
        judgements=judgements,
        classes=judgements.classes(places, considered=considered, left_out=left_out),
        drifting=judgements.drifting(places.adrift, considered=considered, left_out=left_out),
    )
