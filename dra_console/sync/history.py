"""Write down what was seen to happen to claims, slices and classes, compactly.

Batches are coalesced, so what happened and was undone within one flush is not seen; nor is
what happened and was undone while nobody followed. What lies between two states that were
seen is written down with the time at which the later one was seen. A state that is listed
again writes nothing.

A row is bounded: of many names the first `NAMES_KEPT` are kept and the others counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import ObjectChange
from dra_console.sync import bulk
from dra_console.sync.assignments import held_by
from dra_console.sync.changes import Row, RowChange
from dra_console.sync.columns import allocation_of
from dra_console.sync.reading import object_in, objects_in, text_in

NAMES_KEPT: Final = 32
"""As many devices as one claim may have."""

TEXT_KEPT: Final = 500

Happening: TypeAlias = tuple[str, JsonObject]
"""What happened, such as `allocated`, and the detail that goes with it."""

HappeningsOf: TypeAlias = Callable[[JsonObject, JsonObject], Iterator[Happening]]
"""What lies between two states of an object; the first is empty if it just appeared."""


def record(plural: str, *, changes: Sequence[RowChange[Row]], seen_at: datetime) -> None:
    """Add the history of these changes, for the kinds that have one."""
    happenings_of = HAPPENINGS.get(plural)
    if happenings_of is None:
        return
    bulk.write_values(
        ObjectChange,
        [
            (row.cluster_id, plural, row.namespace, row.name, row.uid, seen_at, happened, detail)
            for change in changes
            if (row := change.after or change.before) is not None
            for happened, detail in _life_of(change, happenings_of)
        ],
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
        yield "unreserved", first_names("reserved_for", gone)
    if was_allocated is not None and was_allocated != allocation:
        yield "deallocated", first_names("devices", _devices_of(was_allocated))
    if allocation is not None and was_allocated != allocation:
        yield "allocated", first_names("devices", _devices_of(allocation))
    if new := [name for name in consumers if name not in consumers_before]:
        yield "reserved", first_names("reserved_for", new)
    said_before, said = _device_statuses_of(before), _device_statuses_of(after)
    if said_before == said:
        return
    if news := [
        f"{device}: {words or 'nothing more'}"
        for device, words in {**dict.fromkeys(said_before, ""), **said}.items()
        if words != said_before.get(device, "")
    ]:
        yield "device status", first_names("said", news)


def _of_slice(before: JsonObject, after: JsonObject) -> Iterator[Happening]:
    if not before or object_in(before, "spec") == object_in(after, "spec"):
        return
    devices_before, devices = _published_by(before), _published_by(after)
    published: JsonObject = {
        "generation": object_in(after, "spec", "pool").get("generation"),
        "devices": len(devices),
    }
    for word, names in (
        ("came", [name for name in devices if name not in devices_before]),
        ("went", [name for name in devices_before if name not in devices]),
        ("changed", _changed(devices_before, devices)),
    ):
        if names:
            published[word] = first_names("first", names)
    yield "published", published
    tainted_before, tainted = _taints_of(before), _taints_of(after)
    if tainted_before != tainted:
        shown: JsonObject = {name: tainted[name] for name in list(tainted)[:NAMES_KEPT]}
        detail: JsonObject = {"tainted": shown, **_more(len(tainted))}
        yield "taints changed", detail


def _of_class(before: JsonObject, after: JsonObject) -> Iterator[Happening]:
    spec_before, spec = object_in(before, "spec"), object_in(after, "spec")
    if not before or spec_before == spec:
        return
    was, is_now = _selectors_of(spec_before), _selectors_of(spec)
    changed: JsonObject = {}
    if new := [expression for expression in is_now if expression not in was]:
        changed["selectors_added"] = first_names("first", new)
    if gone := [expression for expression in was if expression not in is_now]:
        changed["selectors_removed"] = first_names("first", gone)
    others = sorted({*spec_before, *spec} - {"selectors"})
    if fields := [name for name in others if spec_before.get(name) != spec.get(name)]:
        changed["fields"] = first_names("first", fields)
    yield "changed", changed


HAPPENINGS: Final[Mapping[str, HappeningsOf]] = MappingProxyType(
    {
        RESOURCE_CLAIMS.plural: _of_claim,
        RESOURCE_SLICES.plural: _of_slice,
        DEVICE_CLASSES.plural: _of_class,
    }
)


def first_names(word: str, names: Sequence[str]) -> JsonObject:
    """Say it of names: keep the first of many names; `more` counts the others."""
    kept: list[Json] = [name[:TEXT_KEPT] for name in names[:NAMES_KEPT]]
    return {word: kept} | _more(len(names))


def _more(count: int) -> JsonObject:
    return {"more": count - NAMES_KEPT} if count > NAMES_KEPT else {}


def _changed(before: Mapping[str, JsonObject], after: Mapping[str, JsonObject]) -> list[str]:
    """Name devices that are another than before, in more than their taints, with the fields."""
    changed = []
    for name, device in after.items():
        was = before.get(name)
        if was is None or was == device:
            continue
        fields = sorted(
            field for field in {*was, *device} - {"taints"} if was.get(field) != device.get(field)
        )
        if fields:
            changed.append(f"{name}: {', '.join(fields)}")
    return changed


def _published_by(published: JsonObject) -> dict[str, JsonObject]:
    return {text_in(device, "name"): device for device in objects_in(published, "spec", "devices")}


def _selectors_of(spec: JsonObject) -> list[str]:
    return [text_in(selector, "cel", "expression") for selector in objects_in(spec, "selectors")]


def _device_statuses_of(claim: JsonObject) -> dict[str, str]:
    """Say what drivers report of each device: its conditions, such as `Ready=True`."""
    return {
        "/".join(text_in(status, part) for part in ("driver", "pool", "device")): ", ".join(
            f"{text_in(condition, 'type')}={text_in(condition, 'status')}"
            for condition in objects_in(status, "conditions")
        )
        for status in objects_in(claim, "status", "devices")
        if objects_in(status, "conditions")
    }


def _consumers_of(claim: JsonObject) -> list[str]:
    return [
        f"{text_in(consumer, 'resource')}/{text_in(consumer, 'name')}"
        for consumer in objects_in(claim, "status", "reservedFor")
    ]


def _devices_of(allocation: JsonObject) -> list[str]:
    return [f"{held.driver}/{held.pool}/{held.device}" for held in held_by(allocation)]


def _taints_of(published: JsonObject) -> JsonObject:
    """Map each tainted device to its taints as `key=value:effect`."""
    return {
        text_in(device, "name")[:TEXT_KEPT]: [
            f"{text_in(taint, 'key')}={text_in(taint, 'value')}:{text_in(taint, 'effect')}"[
                :TEXT_KEPT
            ]
            for taint in objects_in(device, "taints")[:NAMES_KEPT]
        ]
        for device in objects_in(published, "spec", "devices")
        if objects_in(device, "taints")
    }
