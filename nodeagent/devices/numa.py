"""Which NUMA nodes are as good as a device's own, from the kernel's tree (KEP-6072).

A socket may be cut into several NUMA nodes. A CPU of another node of the same socket is nearly as
near to the device as one of its own, so both count for whoever wants CPU and GPU together.
"""

import re
from pathlib import Path
from typing import Final

CPU: Final = re.compile(r"cpu\d+")
NODE: Final = re.compile(r"node(\d+)")


def near_numa_nodes(sysfs: Path, node: int) -> tuple[int, ...]:
    """Return the node itself, then others of its socket at the least distance, by number.

    Only the node itself where the kernel says nothing of distances or sockets.
    """
    nodes = sysfs / "devices/system/node"
    own_socket = _socket_of(nodes / f"node{node}")
    distances = _distances(nodes, node)
    if own_socket is None or distances is None:
        return (node,)
    beside = {
        other: distance
        for other, distance in distances.items()
        if other != node and _socket_of(nodes / f"node{other}") == own_socket
    }
    least = min(beside.values(), default=0)
    return (node, *(other for other, distance in beside.items() if distance == least))


def _distances(nodes: Path, node: int) -> dict[int, int] | None:
    """Return the distance to each node; the file has one number for each, in their order."""
    try:
        numbers = [int(word) for word in (nodes / f"node{node}/distance").read_text().split()]
        names = [NODE.fullmatch(entry.name) for entry in nodes.iterdir()]
    except (OSError, ValueError):
        return None
    known = sorted(int(name[1]) for name in names if name is not None)
    return dict(zip(known, numbers, strict=True)) if len(known) == len(numbers) else None


def _socket_of(node: Path) -> str | None:
    try:
        cpus = sorted(entry for entry in node.iterdir() if CPU.fullmatch(entry.name))
        return (cpus[0] / "topology/physical_package_id").read_text().strip() if cpus else None
    except OSError:
        return None
