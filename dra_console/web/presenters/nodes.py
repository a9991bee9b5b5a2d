"""Nodes as a list and as a page: their devices, agent, versions and pools."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dra_console.mirror.inventory import DeviceState
from dra_console.mirror.models import Node
from dra_console.mirror.tallies import PoolNumbers
from dra_console.sync.reading import object_in, objects_in, text_in
from dra_console.web.presenters.boards import NodeRow, node_rows
from dra_console.web.presenters.live_state import LiveState, Used, used_of
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.sum_bar import SumBar, sum_bar_of
from dra_console.web.presenters.tiles import ShownHolder, shown_holders


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a node takes pods, in a word and as a tone."""

    label: str
    tone: str
    """`ok`, `warn`, `sick` or empty, as `.pill` spells it."""


@dataclass(frozen=True, slots=True)
class NodeLine:
    """One node in the list."""

    row: NodeRow
    bar: SumBar
    readiness: Readiness
    agent_version: str
    kubelet_version: str
    driver_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeVersions:
    """What a node says of itself; empty where it says nothing."""

    kubelet: str
    container_runtime: str
    os_image: str
    kernel: str
    architecture: str


def node_lines(  # noqa: PLR0913 - what to draw, of what, and for whom
    nodes: Iterable[Node],
    *,
    node_names: Iterable[str],
    states: Sequence[DeviceState],
    reader: Reader,
    live: LiveState,
    pools: Sequence[PoolNumbers],
) -> tuple[NodeLine, ...]:
    """Draw one line for each of these names."""
    node_by_name: Mapping[str, Node] = {node.name: node for node in nodes}
    states_by_node: dict[str, list[DeviceState]] = defaultdict(list)
    for state in states:
        states_by_node[state.node_name].append(state)
    rows = node_rows(
        states, node_names=node_names, shown=states, reader=reader, live=live, pools=pools
    )
    lines = []
    for row in rows:
        node = node_by_name.get(row.node_name)
        agent = live.agents.get(row.node_name)
        lines.append(
            NodeLine(
                row=row,
                bar=sum_bar_of(
                    states_by_node[row.node_name],
                    reader=reader,
                    is_lower_bound=row.is_lower_bound,
                ),
                readiness=readiness_of(node),
                agent_version="" if agent is None else agent.version,
                kubelet_version="" if node is None else versions_of(node).kubelet,
                driver_versions=driver_versions(states_by_node[row.node_name]),
            )
        )
    return tuple(lines)


def readiness_of(node: Node | None) -> Readiness:
    """Say whether a node takes pods."""
    if node is None:
        return Readiness("not in the cluster", "sick")
    if node.ready is None:
        return Readiness("not known", "")
    if not node.ready:
        return Readiness("not ready", "sick")
    return Readiness("cordoned", "warn") if node.unschedulable else Readiness("ready", "ok")


def versions_of(node: Node) -> NodeVersions:
    """Read `status.nodeInfo`."""
    node_info = object_in(node.raw, "status", "nodeInfo")
    return NodeVersions(
        kubelet=text_in(node_info, "kubeletVersion"),
        container_runtime=text_in(node_info, "containerRuntimeVersion"),
        os_image=text_in(node_info, "osImage"),
        kernel=text_in(node_info, "kernelVersion"),
        architecture=text_in(node_info, "architecture"),
    )


def conditions_of(node: Node) -> tuple[tuple[str, str, str], ...]:
    """Read `status.conditions` as type, status and reason."""
    return tuple(
        (text_in(one, "type"), text_in(one, "status"), text_in(one, "reason"))
        for one in objects_in(node.raw, "status", "conditions")
    )


def driver_versions(states: Iterable[DeviceState]) -> tuple[str, ...]:
    """Name the driver versions that devices publish, each once."""
    found = {
        text_in(state.device.attributes, name, "version")
        or text_in(state.device.attributes, name, "string")
        for state in states
        for name in ("driverVersion", f"{state.device.driver}/driverVersion")
    }
    return tuple(sorted(found - {""}))


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim with what it holds on a node; one line for all that the reader may not name."""

    holder: ShownHolder
    devices: tuple[str, ...]
    used: Used


def held_claims(
    states: Iterable[DeviceState], *, reader: Reader, live: LiveState
) -> tuple[HeldClaim, ...]:
    """Group held devices by the claim that holds them."""
    by_label: dict[str, list[tuple[ShownHolder, DeviceState]]] = defaultdict(list)
    for state in states:
        for holder in shown_holders(state.holders, reader=reader):
            if not holder.watches_only:
                by_label[holder.label].append((holder, state))
    return tuple(
        HeldClaim(
            holder=held[0][0],
            devices=tuple(state.device.name for _, state in held),
            used=used_of((state for _, state in held), live=live),
        )
        for _, held in sorted(by_label.items())
    )
