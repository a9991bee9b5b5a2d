"""Say in a line why a pod runs nowhere, as kube-scheduler does: `0 of 3 nodes are good: ...`."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.mirror.pod_requests import spelled
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.grouped import positions_in
from dra_console.scheduling.planning.node_facts import PODS
from dra_console.scheduling.planning.wishes import PodWish

REASONS_TOLD: Final = 6
PLURALS: Final = (("is ", "are "), ("has ", "have "), ("does ", "do "), ("offers ", "offer "))


def headline(left_out: Mapping[str, Sequence[str]], *, lack_devices: int, nodes: int) -> str:
    """Fold the reasons of all nodes; the greatest groups come first."""
    if not nodes:
        return "the cluster has no nodes"
    groups = sorted(left_out.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = [f"{len(names)} {counted(reason, len(names))}" for reason, names in groups]
    if lack_devices:
        parts.insert(0, f"{lack_devices} {counted('lacks devices', lack_devices)}")
    more = len(parts) - REASONS_TOLD
    if more > 0:
        parts = [*parts[:REASONS_TOLD], f"and {more} more reasons"]
    return f"0 of {nodes} {'node takes' if nodes == 1 else 'nodes take'} it: {', '.join(parts)}"


def counted(reason: str, nodes: int) -> str:
    """Put a node's reason into the plural if it is that of several."""
    if nodes == 1:
        return reason
    for one, many in (*PLURALS, ("lacks ", "lack "), ("takes ", "take "), ("serves ", "serve ")):
        if reason.startswith(one):
            return many + reason.removeprefix(one)
    return reason


def reason_of_lack(board: NodeBoard, wish: PodWish, resource: str, nodes: int) -> str:
    """Say how short a resource is on nodes that are given as bits; one text for all of them."""
    if resource == PODS:
        return "takes no more pods"
    wanted = dict(wish.requests)[resource]
    most, is_offered = 0, False
    for position in positions_in(nodes):
        name = board.columns.name_at(position)
        facts = board.facts(name)
        if facts is not None and resource in facts.offers:
            is_offered = True
            most = max(most, facts.offers[resource] - board.used_on(name).get(resource, 0))
    if not is_offered:
        return f"offers no {resource}"
    left = f"{'at most ' if nodes.bit_count() > 1 else ''}{spelled(resource, most)} left"
    return f"lacks {resource}: {spelled(resource, wanted)} wanted, {left}"
