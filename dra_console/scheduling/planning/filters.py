"""Which nodes are good for a pod, devices aside: kube-scheduler's filters, as far as supported.

Pure. Each filter says why a node is left out; nodes with the same reason have the same text,
so that thousands of them fold into a line.

What kube-scheduler knows from taints that a controller sets, such as for nodes that are not
ready, is read here from the node itself as well: those taints may be late, or nobody may set
them. The tolerations that go with them count.
"""

from typing import Final, NamedTuple

from dra_console.allocator.model import Node
from dra_console.allocator.world.nodes import selects
from dra_console.mirror.pod_requests import CPU, EPHEMERAL_STORAGE, MEMORY, Amounts
from dra_console.scheduling.planning.node_facts import PODS, NodeFacts
from dra_console.scheduling.planning.tolerations import NodeTaint, untolerated, unwelcome
from dra_console.scheduling.planning.wishes import NodeWish

NOT_READY: Final = NodeTaint("node.kubernetes.io/not-ready", "", "NoSchedule")
UNREACHABLE: Final = NodeTaint("node.kubernetes.io/unreachable", "", "NoSchedule")
UNSCHEDULABLE: Final = NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule")

NOT_KNOWN: Final = "is not known yet"
TAKES_ANY_AMOUNT: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE, PODS})
"""A node that does not say how much of these it has is not bounded by them."""


def why_not(facts: NodeFacts | None, wish: NodeWish) -> str:
    """Say why pods with this wish do not run on a node, as `is cordoned`; empty if they may.

    Looks at nothing that other pods change.
    """
    if facts is None:
        return NOT_KNOWN
    for stands_against, taint, words in (
        (facts.is_ready is False, NOT_READY, "is not ready"),
        (facts.is_ready is None, UNREACHABLE, "is in a state that is not known"),
        (facts.is_cordoned, UNSCHEDULABLE, "is cordoned"),
    ):
        if stands_against and untolerated((taint,), wish.tolerations):
            return words
    if unwanted := untolerated(facts.taints, wish.tolerations):
        return f"has taint {unwanted}, which the pod does not tolerate"
    if not _is_selected(facts.node, wish):
        return "does not match the pod's node selector or affinity"
    return f"offers what cannot be read: {facts.problem}" if facts.problem else ""


class Lack(NamedTuple):
    """A resource that is too short on a node."""

    resource: str
    is_offered: bool
    """False: the node has none of it at all."""


def lacking(
    facts: NodeFacts | None, used: Amounts, requests: tuple[tuple[str, int], ...]
) -> Lack | None:
    """Name the first resource that is too short on a node for a pod.

    `used` is by resource, `pods` included.
    """
    if facts is None:
        return None
    offers = facts.offers
    if PODS in offers and used.get(PODS, 0) >= offers[PODS]:
        return Lack(PODS, is_offered=True)
    for name, amount in requests:
        if name not in offers and name in TAKES_ANY_AMOUNT:
            continue
        offered = offers.get(name, 0)
        if used.get(name, 0) + amount > offered:
            return Lack(name, is_offered=offered > 0)
    return None


def preference(facts: NodeFacts | None, wish: NodeWish) -> tuple[int, int]:
    """Tell how much a pod likes a node: the weights that it matches, and taints to avoid, negative.

    The greater, the better.
    """
    if facts is None:
        return (0, 0)
    return (
        sum(weight for weight, term in wish.preferred if selects(term, node=facts.node)),
        -unwelcome(facts.taints, wish.tolerations),
    )


def _is_selected(node: Node, wish: NodeWish) -> bool:
    labels = node.labels
    if any(labels.get(key) != value for key, value in wish.labels):
        return False
    return wish.required is None or selects(wish.required, node=node)
