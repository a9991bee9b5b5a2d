"""Pools of nodes that share devices, each once with all the nodes that see something of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dra_console.allocator.inventory import DeviceId, Node, PoolId
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.nodes import NodeSelectorError, reaches
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice


@dataclass(frozen=True, slots=True)
class SharedPool:
    """One pool, its devices that some of the nodes can use, and what nodes see of it."""

    nodes: tuple[str, ...]
    devices: tuple[PublishedDevice, ...]
    seen: tuple[NodePool, ...]


@dataclass(slots=True)
class _Found:
    nodes: list[str] = field(default_factory=list)
    devices: dict[DeviceId, PublishedDevice] = field(default_factory=dict)
    seen: dict[NodePool, None] = field(default_factory=dict)


def pools_of(nodes: Sequence[Node], index: Index) -> tuple[Sequence[SharedPool], int]:
    """List the pools that the nodes can use, and count the nodes that cannot be looked at."""
    found: dict[PoolId, _Found] = {}
    unread = 0
    for node in nodes:
        try:
            pools = index.inventory.pools_on(node)
        except NodeSelectorError:
            unread += 1
            continue
        for pool in pools:
            if pool.status is not PoolStatus.READY:
                continue
            known = found.setdefault(pool.id, _Found())
            known.nodes.append(node.name)
            known.seen[pool] = None
            known.devices |= {
                each.id: each
                for each in pool.devices
                if not each.is_reach_own or reaches(each.reach, node=node)
            }
    return [
        SharedPool(tuple(each.nodes), tuple(each.devices.values()), tuple(each.seen))
        for each in found.values()
    ], unread
