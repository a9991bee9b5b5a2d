"""What the values of a model's fields become before they are written without the ORM.

It does to each value what the ORM would, for the values of many rows at once.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, TypeAlias

import msgspec
import orjson
from django.db import connection, models

from dra_console.allocator.model import Json

Encode: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
"""Makes a field's values, of all rows, fit for the database; `None` stays."""


def encoder_of(field: "models.Field[Any, Any]", *, vendor: str) -> Encode | None:
    """Return what has to be done to a field's values; `None` for nothing."""
    match field:
        case models.JSONField():
            return _json_texts
        case models.DateTimeField() if vendor == "sqlite":
            return partial(_time_texts, zone=connection.timezone or UTC)
        case models.CharField() if field.choices:
            # A member of an enumeration is a text, but no driver's idea of one.
            return _plain_texts
        case _:
            return None


def decoded(value: Any) -> Any:  # noqa: ANN401 - a value of any field
    """Return what the ORM takes: JSON that is given as text is read."""
    return orjson.loads(memoryview(value)) if isinstance(value, msgspec.Raw) else value


def _json_texts(values: Sequence[Json | msgspec.Raw]) -> list[str | None]:
    return [
        None
        if value is None
        else str(value, "utf-8")
        if isinstance(value, msgspec.Raw)
        else _json_text(value)
        for value in values
    ]


def _json_text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # What it refuses, such as a number of more than 64 bits, Python's own may take.
        return json.dumps(value)


def _time_texts(values: Sequence[datetime | None], *, zone: tzinfo) -> list[str | None]:
    """Write times as Django does for SQLite: in the database's zone, without saying so."""
    # Many rows of a batch were seen at the same time.
    texts = {value: None if value is None else _time_text(value, zone) for value in {*values}}
    return [texts[value] for value in values]


def _time_text(value: datetime, zone: tzinfo) -> str:
    # Cut off is the zone, which follows the seconds or, where there are any, their fraction.
    return value.astimezone(zone).isoformat(" ")[: 26 if value.microsecond else 19]


def _plain_texts(values: Sequence[str | None]) -> list[str | None]:
    return [None if value is None else str(value) for value in values]
