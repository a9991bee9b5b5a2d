"""What keeps matching devices away that could be otherwise: taints, and claims that hold them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dra_console.allocator.explanation.judgements import DriftingDevice, NodeClass
from dra_console.allocator.explanation.verdicts import Judgement, Verdict
from dra_console.allocator.inventory import DeviceId, Node, Taint
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.allocator.world.pools import PublishedDevice

NODES_TRIED: Final = 8
"""Of those that can use a device that somebody else holds."""


def taints_in_the_way(
    judged: Iterable[tuple[PublishedDevice, Judgement]], *, added: AddedTaints
) -> tuple[Taint, ...]:
    """List the different taints that keep devices away, as they are met."""
    taints: dict[tuple[str, str, str], Taint] = {}
    for published, judgement in judged:
        if judgement.verdict is Verdict.TAINTED:
            for taint in added.beside_own(published):
                taints.setdefault((taint.key, taint.value, taint.effect), taint)
    return tuple(taints.values())


def taken_devices(
    classes: Sequence[NodeClass], drifting: Sequence[DriftingDevice], *, nodes: Sequence[Node]
) -> Iterator[tuple[DeviceId, tuple[Node, ...]]]:
    """Walk the taken devices with some of the nodes that could use them, class by class."""
    for each in classes:
        for place in each.places:
            for published, judgement in zip(place.devices, each.judgements, strict=True):
                if judgement.verdict is Verdict.TAKEN:
                    yield published.id, (place.node,)
    by_name = {node.name: node for node in nodes}
    for device in drifting:
        if device.judgement.verdict is Verdict.TAKEN:
            usable_on = [by_name[name] for name in device.adrift.usable_on if name in by_name]
            yield device.published.id, tuple(usable_on[:NODES_TRIED])
