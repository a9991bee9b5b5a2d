"""Classes of nodes and devices adrift, as the groups that an explanation consists of."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from dra_console.allocator.explanation import wording
from dra_console.allocator.explanation.findings import Finding
from dra_console.allocator.explanation.groups import NodeDevices, NodeGroup
from dra_console.allocator.explanation.judgements import DriftingDevice, NodeClass
from dra_console.allocator.explanation.verdicts import RANKS, Judgement, Verdict, counts_of
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.world.pools import PublishedDevice

NOTHING_CHOSEN: Final[Mapping[DeviceId, str]] = MappingProxyType({})


def group_of(each: NodeClass, finding: Finding) -> NodeGroup:
    """Say of the nodes of a class what was found out about one of them."""
    return NodeGroup(finding.reason, finding.summary, each.judgements, each.places)


def chosen_groups(
    classes: Sequence[NodeClass],
    node_name: str | None,
    requests: Mapping[DeviceId, str],
    *,
    summary: str,
) -> Iterator[NodeGroup]:
    """Take the node on which devices were chosen out of its class; `requests` are by device."""
    for each in classes:
        for place in each.places:
            if place.name == node_name and place.devices:
                judgements = _chosen(place.devices, each.judgements, requests)
                yield NodeGroup("fits", summary, judgements, (place,))


def plain_groups(
    classes: Sequence[NodeClass],
    drifting: Sequence[DriftingDevice],
    *,
    but: Container[NodeClass] = (),
    without: str | None = None,
    requests: Mapping[DeviceId, str] = NOTHING_CHOSEN,
) -> Iterator[NodeGroup]:
    """Group nodes about whose sets of devices there is nothing to say; no node comes last."""
    for each in classes:
        places = each.places
        if without is not None:
            places = tuple(place for place in places if place.name != without)
        if each not in but and places and each.judgements:
            yield _plain(each.judgements, places)
    if drifting:
        devices = tuple(each.published for each in drifting)
        judgements = tuple(each.judgement for each in drifting)
        yield _plain(_chosen(devices, judgements, requests), (NodeDevices("", devices),))


def counts_in(
    classes: Sequence[NodeClass], drifting: Sequence[DriftingDevice]
) -> Mapping[Verdict, int]:
    """Count all devices by verdict."""
    of_classes = (
        (judgement, len(each.places)) for each in classes for judgement in each.judgements
    )
    return counts_of(chain(of_classes, ((each.judgement, 1) for each in drifting)))


def seen(
    classes: Sequence[NodeClass], drifting: Sequence[DriftingDevice]
) -> Iterator[tuple[PublishedDevice, Judgement]]:
    """Walk one device of each kind at least."""
    for each in classes:
        yield from zip(each.first.devices, each.judgements, strict=True)
    for device in drifting:
        yield device.published, device.judgement


def _plain(judgements: tuple[Judgement, ...], nodes: tuple[NodeDevices, ...]) -> NodeGroup:
    counts = counts_of((judgement, 1) for judgement in judgements)
    furthest = max((verdict for verdict in Verdict if counts[verdict]), key=RANKS.__getitem__)
    return NodeGroup(furthest.value, wording.counted(counts), judgements, nodes)


def _chosen(
    devices: Sequence[PublishedDevice],
    judgements: Sequence[Judgement],
    requests: Mapping[DeviceId, str],
) -> tuple[Judgement, ...]:
    """Say of the chosen devices what they were chosen for."""
    return tuple(
        replace(judgement, evidence=f"chosen for request {requests[published.id]}")
        if published.id in requests
        else judgement
        for published, judgement in zip(devices, judgements, strict=True)
    )
