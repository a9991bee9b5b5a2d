"""Take other people's names out of an explanation before somebody reads it.

An explanation is made once for everybody and names who holds each device. A reader without
the right to list claims in the holder's namespace learns that the device is taken, not by whom.
"""

from collections.abc import Collection

from dra_console.allocator.explanation.unfolding import HIDDEN_NAMESPACE, objects
from dra_console.allocator.model import Json, JsonObject


def redacted(explanation: JsonObject, *, namespaces: Collection[str] | None) -> JsonObject:
    """Copy an explanation (`Explanation.to_json`) as a reader of these namespaces may see it.

    `namespaces` is what `rules.visible_namespaces` says of claims: None means all.
    """
    if namespaces is None:
        return explanation
    suggestions: list[Json] = [
        {**each, "holder": None} if _is_hidden(each.get("holder"), namespaces) else each
        for each in objects(explanation.get("suggestions"))
    ]
    return {
        **explanation,
        "holders": _holders(explanation.get("holders"), namespaces),
        "suggestions": suggestions,
    }


def _holders(holders: Json, namespaces: Collection[str]) -> JsonObject:
    """Gather the devices of other namespaces' claims under no claim's name."""
    shown: JsonObject = {}
    hidden: list[Json] = []
    for namespace, claims in holders.items() if isinstance(holders, dict) else ():
        if namespace in namespaces:
            shown[namespace] = claims
        elif isinstance(claims, dict):
            hidden += [
                device
                for devices in claims.values()
                if isinstance(devices, list)
                for device in devices
            ]
    return {**shown, HIDDEN_NAMESPACE: {"": hidden}} if hidden else shown


def _is_hidden(holder: Json, namespaces: Collection[str]) -> bool:
    return isinstance(holder, dict) and holder.get("namespace") not in namespaces
