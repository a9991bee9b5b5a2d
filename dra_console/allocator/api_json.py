"""The type of API objects as they travel: plain JSON."""

from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Any JSON value, as an API object holds it."""

JsonObject: TypeAlias = dict[str, Json]


def without_unset(fields: JsonObject) -> JsonObject:
    """Leave out what the API leaves out: null, false, and empty texts, lists and objects."""
    return {key: value for key, value in fields.items() if value not in (None, False, "", [], {})}
