"""Say in a line why a pod runs nowhere, as kube-scheduler does: `0 of 3 nodes are good: ...`."""

from collections.abc import Mapping
from typing import Final

from dra_console.mirror.pod_requests import spelled
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.extended import serving_class
from dra_console.scheduling.planning.filters import Lack
from dra_console.scheduling.planning.node_facts import PODS
from dra_console.scheduling.planning.wishes import PodWish

REASONS_TOLD: Final = 6
PLURALS: Final = (("is ", "are "), ("has ", "have "), ("does ", "do "), ("offers ", "offer "))


def headline(left_out: Mapping[str, int], *, lack_devices: int, nodes: int) -> str:
    """Fold reasons, with the number of nodes of each; the greatest groups come first."""
    if not nodes:
        return "the cluster has no nodes"
    groups = sorted(left_out.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{count} {counted(reason, count)}" for reason, count in groups]
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


def reason_of_lack(board: NodeBoard, wish: PodWish, lack: Lack, nodes: int) -> str:
    """Say how short a resource is on nodes that are given as bits; one text for all of them."""
    resource = lack.resource
    if resource == PODS:
        return "takes no more pods"
    if not lack.is_offered:
        served = serving_class(resource, classes=board.fleet.roster.index.classes.values())
        by_claim = f", and no claim is made for DeviceClass {served.name}" if served else ""
        return f"offers no {resource}{by_claim}"
    most = board.columns.most_left(resource, nodes)
    left = f"{'at most ' if nodes.bit_count() > 1 else ''}{spelled(resource, most)} left"
    return f"lacks {resource}: {spelled(resource, dict(wish.requests)[resource])} wanted, {left}"
