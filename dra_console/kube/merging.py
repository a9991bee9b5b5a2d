"""JSON merge patch (RFC 7396) on parsed objects."""

import copy

from dra_console.allocator.model import Json, JsonObject


def merged_value(target: Json, patch: Json) -> Json:
    """Apply a merge patch: objects merge, `null` removes, anything else replaces.

    The arguments stay as they were; what is new in the result is a copy.
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    return merged_object(target if isinstance(target, dict) else {}, patch)


def merged_object(target: JsonObject, patch: JsonObject) -> JsonObject:
    """Apply a merge patch to an object."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged_value(result.get(key), value)
    return result
