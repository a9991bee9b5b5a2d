"""Nodes of which the same is to be said, device by device."""

from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.allocator.explanation.verdicts import Judgement
from dra_console.allocator.world.pools import PublishedDevice


@dataclass(frozen=True, slots=True, eq=False)
class NodeDevices:
    """A node with the devices that stand at it; an empty name is no single node."""

    name: str
    devices: tuple[PublishedDevice, ...]


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of which the same is to be said. `judgements` has one entry a device, in order.

    `reason` is a verdict, or one of `fits` and `count` (some, but too few devices are free).
    `summary` is that in words. Devices of a group have the same names on all its nodes, but
    for the name of the node in that of the pool.
    """

    reason: str
    summary: str
    judgements: tuple[Judgement, ...]
    nodes: tuple[NodeDevices, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)

    @property
    def counts(self) -> Mapping[Judgement, int]:
        """Devices by judgement, over all nodes of the group."""
        counts: dict[Judgement, int] = {}
        for judgement in self.judgements:
            counts[judgement] = counts.get(judgement, 0) + len(self.nodes)
        return counts
