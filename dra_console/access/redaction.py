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
        "suggestions": [
            {**each, "holder": None} if _is_hidden(each, namespaces) else each
            for each in _list(explanation, "suggestions")
        ],
    }


def _node(node: JsonObject, namespaces: Collection[str]) -> Json:
    devices: list[Json] = [
        {**each, "holder": None, "evidence": HIDDEN_HOLDER}
        if _is_hidden(each, namespaces)
        else each
        for each in _list(node, "devices")
    ]
    return {**node, "devices": devices}


def _is_hidden(entry: JsonObject, namespaces: Collection[str]) -> bool:
    holder = entry.get("holder")
    return isinstance(holder, dict) and holder.get("namespace") not in namespaces


def _list(parent: JsonObject, member: str) -> list[JsonObject]:
    entries = parent.get(member)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
