"""JSON patch (RFC 6902), as far as explanations suggest changes: add, remove, replace."""

import copy
from collections.abc import Iterable

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.errors import DecodeError


def patched(target: JsonObject, operations: Iterable[JsonObject], *, path: str) -> JsonObject:
    """Return a changed copy; `path` is where the patch stands in the scenario.

    Raises:
        DecodeError: an operation does not fit the object.

    """
    changed = copy.deepcopy(target)
    for number, operation in enumerate(operations):
        try:
            _apply(changed, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise DecodeError(
                f"{path}[{number}]", f"the object has no {operation.get('path')}"
            ) from error
    return changed


def _apply(target: JsonObject, operation: JsonObject) -> None:
    *parents, last = _parts(str(operation["path"]))
    place: Json = target
    for part in parents:
        place = place[_index(part)] if isinstance(place, list) else _child(place, part)
    kind, value = operation["op"], copy.deepcopy(operation.get("value"))
    if isinstance(place, list):
        _in_list(place, kind, last, value)
    elif not isinstance(place, dict):
        raise TypeError(last)
    elif kind == "add":
        place[last] = value
    elif kind == "remove":
        del place[last]
    else:
        _child(place, last)
        place[last] = value


def _in_list(entries: list[Json], kind: Json, last: str, value: Json) -> None:
    position = len(entries) if last == "-" and kind == "add" else _index(last)
    if kind == "add":
        if position > len(entries):
            raise IndexError(last)
        entries.insert(position, value)
    elif kind == "remove":
        del entries[position]
    else:
        entries[position] = value


def _child(place: Json, part: str) -> Json:
    if not isinstance(place, dict):
        raise TypeError(part)
    return place[part]


def _index(part: str) -> int:
    if not part.isdecimal():
        raise ValueError(part)
    return int(part)


def _parts(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
