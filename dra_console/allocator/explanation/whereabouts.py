"""Every device of the cluster once, with the node at which it stands.

A device that several nodes can use, or none, stands at no node (`""`). Why no considered
node can use a device is part of the answer, since the device has to be accounted for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_console.allocator.inventory import DeviceId, Node
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.nodes import reaches
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """`out_of_reach` is empty if a considered node can use the device."""

    published: PublishedDevice
    node_name: str
    out_of_reach: str


@dataclass(slots=True)
class _Sightings:
    published: PublishedDevice
    nodes: list[str] = field(default_factory=list)
    usable_on: list[str] = field(default_factory=list)
    problem: str = ""


def locate(
    inventory: Inventory,
    *,
    nodes: Sequence[Node],
    considered: Iterable[str],
    left_out: Mapping[str, str],
) -> tuple[Whereabouts, ...]:
    """Locate every device, in first-fit order inside each node; `considered` are node names.

    `left_out` says why nodes are not considered, as far as that is known.

    Raises:
        NodeSelectorError: a slice's node selector is malformed.

    """
    wanted = frozenset(considered)
    sightings: dict[DeviceId, _Sightings] = {}
    for node in nodes:
        for pool, published in _visible(inventory, node):
            seen = sightings.setdefault(published.id, _Sightings(published))
            seen.nodes.append(node.name)
            if pool.status is not PoolStatus.READY:
                seen.problem = f"pool {pool.id} is {pool.status}: {pool.problem}"
            elif node.name in wanted:
                seen.usable_on.append(node.name)
    for published in _newest(inventory):
        sightings.setdefault(published.id, _Sightings(published))
    return tuple(
        Whereabouts(
            published=seen.published,
            node_name=seen.nodes[0] if len(seen.nodes) == 1 else "",
            out_of_reach=_out_of_reach(seen, left_out),
        )
        for seen in sightings.values()
    )


def _visible(inventory: Inventory, node: Node) -> Iterator[tuple[NodePool, PublishedDevice]]:
    for pool in inventory.pools_on(node):
        for published in pool.devices:
            if not published.is_reach_own or reaches(published.reach, node=node):
                yield pool, published


def _newest(inventory: Inventory) -> Iterator[PublishedDevice]:
    for pool in inventory.pools():
        yield from pool.generation(pool.newest).devices


def _out_of_reach(seen: _Sightings, left_out: Mapping[str, str]) -> str:
    if seen.usable_on:
        return ""
    if seen.problem:
        return seen.problem
    if not seen.nodes:
        return "no node of the cluster can use this device"
    reasons = [f"{name}: {left_out[name]}" for name in seen.nodes if name in left_out]
    if reasons:
        return "; ".join(reasons)
    return f"node {', '.join(seen.nodes)} is not among the nodes that may be used"
