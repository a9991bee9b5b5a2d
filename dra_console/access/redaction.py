"""Take other people's names out of an explanation before somebody reads it.

An explanation is made once for everybody and names who holds each device. A reader without
the right to list claims in the holder's namespace learns that the device is taken, not by whom.
"""

from collections.abc import Collection

from dra_console.allocator.model import Json, JsonObject

HIDDEN_HOLDER = "taken by another namespace"


def redacted(explanation: JsonObject, *, namespaces: Collection[str] | None) -> JsonObject:
    """Copy an explanation (`Explanation.to_json`) as a reader of these namespaces may see it.

    `namespaces` is what `rules.visible_namespaces` says of claims: None means all.
    """
    if namespaces is None:
        return explanation
    return {
        **explanation,
        "nodes": [_node(node, namespaces) for node in _list(explanation, "nodes")],
    }


def _node(node: Json, namespaces: Collection[str]) -> Json:
    if not isinstance(node, dict):
        return node
    return {**node, "devices": [_device(device, namespaces) for device in _list(node, "devices")]}


def _device(device: Json, namespaces: Collection[str]) -> Json:
    holder = device.get("holder") if isinstance(device, dict) else None
    if not isinstance(device, dict) or not isinstance(holder, dict):
        return device
    if holder.get("namespace") in namespaces:
        return device
    return {**device, "holder": None, "evidence": HIDDEN_HOLDER}


def _list(parent: JsonObject, member: str) -> list[Json]:
    value = parent.get(member)
    return value if isinstance(value, list) else []
