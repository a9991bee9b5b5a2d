"""Say in a line why a pod runs nowhere, as kube-scheduler does: `0 of 3 nodes are good: ...`."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.mirror.pod_requests import spelled
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.extended import serving_class
from dra_console.scheduling.planning.filters import Lack
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


def reason_of_lack(board: NodeBoard, wish: PodWish, lack: Lack, nodes: int) -> str:
    """Say how short a resource is on nodes that are given as bits; one text for all of them."""
    resource = lack.resource
    if resource == PODS:
        return "takes no more pods"
    if not lack.is_offered:
        served = serving_class(resource, classes=board.fleet.roster.index.classes.values())
        by_claim = f", and no claim is made for DeviceClass {served.name}" if served else ""
        return f"offers no {resource}{by_claim}"
    names = [board.columns.name_at(position) for position in positions_in(nodes)]
    most = max(
        facts.offers.get(resource, 0) - board.used_on(name).get(resource, 0)
        for name in names
        if (facts := board.facts(name)) is not None
    )
    left = f"{'at most ' if len(names) > 1 else ''}{spelled(resource, max(most, 0))} left"
    return f"lacks {resource}: {spelled(resource, dict(wish.requests)[resource])} wanted, {left}"
