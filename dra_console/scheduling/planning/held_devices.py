"""How many of a node's own devices are in use: what packing and spreading look at."""

from dra_console.allocator.search.roster import Roster
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import NodePool


def held_on(roster: Roster, position: int) -> int:
    """Count the devices in use that only the node in this position can reach.

    Devices that other nodes reach as well say nothing about this one. A node whose pools
    cannot be read counts as one without.
    """
    if not roster.nodes.present >> position & 1:
        return 0
    try:
        pools = roster.nodes.record(position).ready
    except NodeSelectorError:
        return 0
    usage = roster.index.usage
    return sum(
        usage.is_drawn(published.id)
        for pool in pools
        if _is_own(pool)
        for published in pool.devices
    )


def _is_own(pool: NodePool) -> bool:
    return all(each.slice.reach.node_name is not None for each in pool.slices)
