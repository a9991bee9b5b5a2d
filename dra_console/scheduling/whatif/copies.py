"""Nodes like one that is there, with slices of their own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dra_console.allocator.inventory import Node, NodeReach, PoolId, ResourceSlice
from dra_console.allocator.model import Snapshot

HOSTNAME = "kubernetes.io/hostname"


def copies_of(
    like: str, count: int, *, snapshot: Snapshot
) -> tuple[Sequence[Node], Sequence[ResourceSlice]]:
    """Make copies of a node, and of the newest of the slices that are its own alone.

    Slices that several nodes reach are not copied: the new nodes reach them by their labels, as
    the old one does.
    """
    original = next(node for node in snapshot.nodes if node.name == like)
    taken = {node.name for node in snapshot.nodes}
    own = _newest([each for each in snapshot.slices if each.reach.node_name == like])
    sizes = _sizes(own, snapshot)
    nodes: list[Node] = []
    slices: list[ResourceSlice] = []
    number = 0
    while len(nodes) < count:
        number += 1
        name = f"{like}-like-{number}"
        if name in taken:
            continue
        labels = dict(original.labels)
        if HOSTNAME in labels:
            labels[HOSTNAME] = name
        nodes.append(replace(original, name=name, labels=labels))
        slices += [
            replace(
                each,
                name=f"{each.name}-{name}",
                pool=_pool_name(each.pool, like=like, name=name),
                resource_slice_count=sizes.get(each.pool_id, each.resource_slice_count),
                reach=NodeReach(node_name=name),
            )
            for each in own
        ]
    return nodes, slices


def _newest(slices: Sequence[ResourceSlice]) -> list[ResourceSlice]:
    newest: dict[PoolId, int] = {}
    for each in slices:
        newest[each.pool_id] = max(each.generation, newest.get(each.pool_id, each.generation))
    return [each for each in slices if each.generation == newest[each.pool_id]]


def _sizes(own: Sequence[ResourceSlice], snapshot: Snapshot) -> dict[PoolId, int]:
    """Say how many slices the copied pools announce, where that is another number.

    A pool that reaches beyond the node is copied in part; one that is incomplete stays so.
    """
    copied = Counter(each.pool_id for each in own)
    beyond = {
        each.pool_id
        for each in snapshot.slices
        if each.pool_id in copied and each.reach != own[0].reach
    }
    return {pool_id: copied[pool_id] for pool_id in beyond}


def _pool_name(pool: str, *, like: str, name: str) -> str:
    return pool.replace(like, name) if like in pool else f"{pool}-{name}"
