"""An explanation as JSON, folded: what the API, the pages and `Attempt.explanation` share.

`groups` are nodes of which the same is to be said. A device is written `driver/pool/device`,
and in a group of several nodes `*` in it stands for the name of the node. `verdicts` of a
group lists each judgement once; `judged` has, for each of `devices`, its place in that list.
`holders` names, by namespace and claim, who has the devices of the verdict `taken`.

A stored explanation is bounded: the groups that came closest list their devices, the rest
only count them (`devices` and `judged` are `null`), and their holders are left out.
`unfolding` turns the JSON back into rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.groups import NodeGroup
from dra_console.allocator.explanation.naming import name_in_group
from dra_console.allocator.explanation.verdicts import Judgement, Verdict
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim


def groups_json(groups: Sequence[NodeGroup], *, most_devices: int | None) -> list[Json]:
    """Write groups of nodes; of those beyond the bound only how many devices have a verdict."""
    listed, rest = split(groups, most_devices)
    return [*(_listed(group) for group in listed), *(each.to_json() for each in _tallies(rest))]


def holders_json(
    groups: Iterable[NodeGroup],
    holder_of: Callable[[DeviceId], ResourceClaim | None],
    *,
    most_devices: int | None,
) -> JsonObject:
    """Name the holders of taken devices, as `{namespace: {claim: [device, ...]}}`."""
    found: dict[str, dict[str, list[Json]]] = {}
    for device_id in islice(_taken(groups), most_devices):
        holder = holder_of(device_id)
        if holder is not None:
            claims = found.setdefault(holder.namespace, {})
            claims.setdefault(holder.name, []).append(str(device_id))
    return {
        namespace: {name: [*devices] for name, devices in claims.items()}
        for namespace, claims in found.items()
    }


def split(
    groups: Sequence[NodeGroup], most_devices: int | None
) -> tuple[Sequence[NodeGroup], Sequence[NodeGroup]]:
    """Divide the groups into those that list their devices and those that count them."""
    if most_devices is None:
        return groups, ()
    listed = 0
    for number, group in enumerate(groups):
        listed += len(group.judgements)
        if listed > most_devices:
            return groups[:number], groups[number:]
    return groups, ()


def _listed(group: NodeGroup) -> JsonObject:
    places = {judgement: place for place, judgement in enumerate(group.counts)}
    first = group.nodes[0]
    is_pattern = len(group.nodes) > 1
    return {
        "names": _names(group),
        "reason": group.reason,
        "summary": group.summary,
        "verdicts": _verdicts(group.counts.items()),
        "devices": [
            name_in_group(published.id, node=first.name) if is_pattern else str(published.id)
            for published in first.devices
        ],
        "judged": [places[judgement] for judgement in group.judgements],
    }


@dataclass(slots=True)
class _Tally:
    """Groups whose devices are not listed, of one reason and summary."""

    reason: str
    summary: str
    names: list[Json]
    counts: dict[Judgement, int]

    def to_json(self) -> JsonObject:
        return {
            "names": self.names,
            "reason": self.reason,
            "summary": self.summary,
            "verdicts": _verdicts(self.counts.items()),
            "devices": None,
            "judged": None,
        }


def _tallies(groups: Iterable[NodeGroup]) -> Iterable[_Tally]:
    tallies: dict[tuple[str, str], _Tally] = {}
    for group in groups:
        key = (group.reason, group.summary)
        tally = tallies.setdefault(key, _Tally(*key, names=[], counts={}))
        tally.names += _names(group)
        for judgement, count in group.counts.items():
            tally.counts[judgement] = tally.counts.get(judgement, 0) + count
    return tallies.values()


def _names(group: NodeGroup) -> list[Json]:
    return [name for name in group.names if name]


def _verdicts(counts: Iterable[tuple[Judgement, int]]) -> list[Json]:
    return [
        {
            "verdict": judgement.verdict.value,
            "evidence": judgement.evidence,
            "request": judgement.request,
            "count": count,
        }
        for judgement, count in counts
    ]


def _taken(groups: Iterable[NodeGroup]) -> Iterator[DeviceId]:
    for group in groups:
        positions = [
            position
            for position, judgement in enumerate(group.judgements)
            if judgement.verdict is Verdict.TAKEN
        ]
        if positions:
            for node in group.nodes:
                for position in positions:
                    yield node.devices[position].id
