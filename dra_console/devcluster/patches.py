"""JSON patch (RFC 6902) on parsed objects."""

import copy

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError


class PatchFailedError(Exception):
    """A JSON patch that can be read does not fit the object: a missing path, a failed test."""


def apply_operations(target: JsonObject, operations: Json) -> Json:
    """Apply a JSON patch, all of it or none; `target` stays as it was.

    Raises:
        BadRequestError: the patch is not a list of operations; the message names the place.
        PatchFailedError: an operation does not fit the object.

    """
    if not isinstance(operations, list):
        raise BadRequestError("patch: expected a list of operations")
    document: Json = copy.deepcopy(target)
    for index, operation in enumerate(operations):
        where = f"patch[{index}]"
        if not isinstance(operation, dict):
            raise BadRequestError(f"{where}: expected an object")
        document = _apply(document, operation, where)
    return document


def _apply(document: Json, operation: JsonObject, where: str) -> Json:
    name = operation.get("op")
    path = _pointer(operation, "path", where)
    if name == "remove":
        return _removed(document, path, where)
    if name in {"move", "copy"}:
        source = _pointer(operation, "from", where)
        value = copy.deepcopy(_found(document, source, where))
        return _added(
            _removed(document, source, where) if name == "move" else document, path, value, where
        )
    if "value" not in operation:
        raise BadRequestError(f"{where}.value: required for {name!r}")
    value = copy.deepcopy(operation["value"])
    if name == "add":
        return _added(document, path, value, where)
    if name == "replace":
        _found(document, path, where)
        return _added(_removed(document, path, where), path, value, where) if path else value
    if name == "test":
        if _found(document, path, where) != value:
            raise PatchFailedError(f"{where}: testing path {operation['path']} failed")
        return document
    raise BadRequestError(
        f"{where}.op: expected add, remove, replace, move, copy or test, got {name!r}"
    )


def _pointer(operation: JsonObject, field: str, where: str) -> list[str]:
    spelled = operation.get(field)
    if not isinstance(spelled, str) or (spelled and not spelled.startswith("/")):
        raise BadRequestError(f"{where}.{field}: expected a JSON pointer, got {spelled!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in spelled.split("/")[1:]]


def _found(document: Json, path: list[str], where: str) -> Json:
    value = document
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list):
            value = value[_index(part, len(value) - 1, where)]
        else:
            raise PatchFailedError(f"{where}: path /{'/'.join(path)} does not exist")
    return value


def _added(document: Json, path: list[str], value: Json, where: str) -> Json:
    if not path:
        return value
    parent = _found(document, path[:-1], where)
    if isinstance(parent, dict):
        parent[path[-1]] = value
    elif isinstance(parent, list):
        position = len(parent) if path[-1] == "-" else _index(path[-1], len(parent), where)
        parent.insert(position, value)
    else:
        raise PatchFailedError(f"{where}: path /{'/'.join(path)} has no parent")
    return document


def _removed(document: Json, path: list[str], where: str) -> Json:
    _found(document, path, where)
    if not path:
        return None
    parent = _found(document, path[:-1], where)
    if isinstance(parent, dict):
        del parent[path[-1]]
    elif isinstance(parent, list):
        del parent[_index(path[-1], len(parent) - 1, where)]
    return document


def _index(part: str, last: int, where: str) -> int:
    if not part.isdecimal() or int(part) > last:
        raise PatchFailedError(f"{where}: index {part!r} is out of range")
    return int(part)
