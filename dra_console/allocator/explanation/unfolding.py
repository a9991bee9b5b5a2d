"""Rows of an explanation that was written as JSON, one a node and one a device.

Only the nodes that are asked for are unfolded, so a page of a large cluster costs what it
shows. What the reader may not see has been taken out of the JSON before: of a device that
is listed under `HIDDEN_NAMESPACE` only that is known.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.naming import name_on

HIDDEN_NAMESPACE: Final = "another namespace"
"""No namespace can have this name, so it can stand among those of `holders`."""

HIDDEN_HOLDER: Final = f"taken by {HIDDEN_NAMESPACE}"

Holders: TypeAlias = Mapping[str, Json]
"""By device; `null` for one that the reader may not see."""


def node_rows(
    explanation: JsonObject, *, names: frozenset[str] | None = None
) -> Iterator[JsonObject]:
    """Unfold all nodes, or those with the names; devices of no single node come last.

    A row has `name`, `reason`, `summary` and `devices`, one row for each (`device_rows`), or
    `null` where a bounded explanation only counts them.
    """
    holders = holders_of(explanation)
    for group in objects(explanation.get("groups")):
        for name in texts(group.get("names")) or ("",):
            if names is None or name in names:
                is_listed = group.get("devices") is not None
                yield {
                    "name": name,
                    "reason": group["reason"],
                    "summary": group["summary"],
                    "devices": [*device_rows(group, name, holders=holders)] if is_listed else None,
                }


def device_rows(group: JsonObject, node: str, *, holders: Holders) -> Iterator[JsonObject]:
    """Unfold the devices of one node of a group; none where a bounded explanation counts only."""
    verdicts = objects(group.get("verdicts"))
    judged = group.get("judged")
    places = judged if isinstance(judged, list) else []
    is_pattern = len(texts(group.get("names"))) > 1
    for pattern, place in zip(texts(group.get("devices")), places, strict=True):
        verdict = verdicts[int(str(place))]
        device = name_on(node, pattern) if is_pattern else pattern
        yield {**_identity(device), **_said(verdict, device, holders)}


def find_device(explanation: JsonObject, device: str) -> JsonObject | None:
    """Unfold the one device `driver/pool/device`, if it is listed."""
    holders = holders_of(explanation)
    for group in objects(explanation.get("groups")):
        patterns = texts(group.get("devices"))
        for name in texts(group.get("names")) or ("",):
            if any(device in {pattern, name_on(name, pattern)} for pattern in patterns):
                for row in device_rows(group, name, holders=holders):
                    if key_of(row) == device:
                        return row
    return None


def holders_of(explanation: JsonObject) -> Holders:
    """List who has which device."""
    found: dict[str, Json] = {}
    for namespace, claims in _members(explanation.get("holders")):
        for name, devices in _members(claims):
            is_hidden = namespace == HIDDEN_NAMESPACE
            holder: Json = None if is_hidden else {"namespace": namespace, "name": name}
            for device in texts(devices):
                found.setdefault(device, holder)
    return found


def key_of(row: JsonObject) -> str:
    """Write the device of a row as `driver/pool/device`."""
    return f"{row['driver']}/{row['pool']}/{row['device']}"


def objects(value: Json) -> list[JsonObject]:
    """Take a member that is a list of objects, or was left out."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts(value: Json) -> tuple[str, ...]:
    """Take a member that is a list of texts, or was left out."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _identity(device: str) -> JsonObject:
    """Split `driver/pool/device`; only the pool's name can have a slash."""
    driver, _, rest = device.partition("/")
    pool, _, name = rest.rpartition("/")
    return {"driver": driver, "pool": pool, "device": name}


def _said(verdict: JsonObject, device: str, holders: Holders) -> JsonObject:
    is_taken = verdict["verdict"] == "taken"
    is_hidden = is_taken and device in holders and holders[device] is None
    return {
        "verdict": verdict["verdict"],
        "evidence": HIDDEN_HOLDER if is_hidden else verdict["evidence"],
        "holder": holders.get(device) if is_taken else None,
        "request": verdict["request"],
    }


def _members(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from value.items()
