"""The type of API objects as they travel: plain JSON."""

from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Any JSON value, as an API object holds it."""

JsonObject: TypeAlias = dict[str, Json]


def without_unset(fields: JsonObject) -> JsonObject:
    """Leave out what the API leaves out: null, false, and empty texts, lists and objects."""
    return {key: value for key, value in fields.items() if value not in (None, False, "", [], {})}


def object_of(value: Json) -> JsonObject:
    """Read a part of an object whose shape its own server has checked; absent is empty."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Json) -> list[JsonObject]:
    """Read a list of objects likewise."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
