"""Write down what was seen to happen to claims, slices and classes, compactly.

Batches are coalesced, so what happened and was undone within one flush is not seen.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import ObjectChange
from dra_console.sync.assignments import held_by
from dra_console.sync.changes import Row, RowChange
from dra_console.sync.columns import allocation_of
from dra_console.sync.reading import object_in, objects_in, text_in

Happening: TypeAlias = tuple[str, JsonObject]
"""What happened, such as `allocated`, and the detail that goes with it."""

HappeningsOf: TypeAlias = Callable[[JsonObject, JsonObject], Iterator[Happening]]
"""What lies between two states of an object; the first is empty if it just appeared."""


def record(plural: str, *, changes: Sequence[RowChange[Row]], seen_at: datetime) -> None:
    """Add the history of these changes, for the kinds that have one."""
    happenings_of = HAPPENINGS.get(plural)
    if happenings_of is None:
        return
    ObjectChange.objects.bulk_create(
        ObjectChange(
            cluster_id=row.cluster_id,
            plural=plural,
            namespace=row.namespace,
            name=row.name,
            uid=row.uid,
            seen_at=seen_at,
            happened=happened,
            detail=detail,
        )
        for change in changes
        if (row := change.after or change.before) is not None
        for happened, detail in _life_of(change, happenings_of)
    )


def _life_of(change: RowChange[Row], happenings_of: HappeningsOf) -> Iterator[Happening]:
    if change.after is None:
        yield "deleted", {}
        return
    before: JsonObject = change.before.raw if change.before else {}
    after: JsonObject = change.after.raw
    if change.before is None:
        yield "created", {"created_at": text_in(after, "metadata", "creationTimestamp")}
    yield from happenings_of(before, after)
    asked_at = text_in(after, "metadata", "deletionTimestamp")
    if asked_at and not text_in(before, "metadata", "deletionTimestamp"):
        yield "deletion requested", {"requested_at": asked_at}


def _of_claim(before: JsonObject, after: JsonObject) -> Iterator[Happening]:
    was_allocated, allocation = allocation_of(before), allocation_of(after)
    consumers_before, consumers = _consumers_of(before), _consumers_of(after)
    if gone := [name for name in consumers_before if name not in consumers]:
        yield "unreserved", {"reserved_for": list[Json](gone)}
    if was_allocated is not None and was_allocated != allocation:
        yield "deallocated", {"devices": _devices_of(was_allocated)}
    if allocation is not None and was_allocated != allocation:
        yield "allocated", {"devices": _devices_of(allocation)}
    if new := [name for name in consumers if name not in consumers_before]:
        yield "reserved", {"reserved_for": list[Json](new)}


def _of_slice(before: JsonObject, after: JsonObject) -> Iterator[Happening]:
    if not before or object_in(before, "spec") == object_in(after, "spec"):
        return
    published: JsonObject = {
        "generation": object_in(after, "spec", "pool").get("generation"),
        "devices": len(objects_in(after, "spec", "devices")),
    }
    yield "published", published
    tainted_before, tainted = _taints_of(before), _taints_of(after)
    if tainted_before != tainted:
        yield "taints changed", {"tainted": tainted}


def _of_class(before: JsonObject, after: JsonObject) -> Iterator[Happening]:
    if before and object_in(before, "spec") != object_in(after, "spec"):
        yield "changed", {}


HAPPENINGS: Final[Mapping[str, HappeningsOf]] = MappingProxyType(
    {
        RESOURCE_CLAIMS.plural: _of_claim,
        RESOURCE_SLICES.plural: _of_slice,
        DEVICE_CLASSES.plural: _of_class,
    }
)


def _consumers_of(claim: JsonObject) -> list[str]:
    return [
        f"{text_in(consumer, 'resource')}/{text_in(consumer, 'name')}"
        for consumer in objects_in(claim, "status", "reservedFor")
    ]


def _devices_of(allocation: JsonObject) -> list[Json]:
    return [f"{held.driver}/{held.pool}/{held.device}" for held in held_by(allocation)]


def _taints_of(published: JsonObject) -> JsonObject:
    """Map each tainted device to its taints as `key=value:effect`."""
    return {
        text_in(device, "name"): [
            f"{text_in(taint, 'key')}={text_in(taint, 'value')}:{text_in(taint, 'effect')}"
            for taint in objects_in(device, "taints")
        ]
        for device in objects_in(published, "spec", "devices")
        if objects_in(device, "taints")
    }
