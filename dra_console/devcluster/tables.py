"""Tables (`meta.k8s.io/v1`), the form in which kubectl asks for objects to print."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.columns import COLUMNS
from dra_console.devcluster.errors import BadRequestError
from dra_console.kube.kinds import Kind

INCLUDE_CHOICES: Final = ("Metadata", "Object", "None")


def table(
    kind: Kind, objects: Iterable[JsonObject], *, metadata: JsonObject, include: str, now: datetime
) -> JsonObject:
    """Print objects as rows; `include` says how much of each object a row carries.

    Raises:
        BadRequestError: `include` is none of Metadata, Object and None.

    """
    if include not in INCLUDE_CHOICES:
        raise BadRequestError(f"includeObject: expected one of {INCLUDE_CHOICES}, got {include!r}")
    rows: list[Json] = [_row(kind, obj, include=include, now=now) for obj in objects]
    definitions: list[Json] = [
        {
            "name": column.name,
            "type": column.type,
            "format": "name" if column.name == "Name" else "",
            "description": "",
            "priority": column.priority,
        }
        for column in COLUMNS[kind]
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _row(kind: Kind, obj: JsonObject, *, include: str, now: datetime) -> JsonObject:
    cells: list[Json] = [column.read(obj, now) for column in COLUMNS[kind]]
    row: JsonObject = {"cells": cells}
    if include == "Object":
        row["object"] = obj
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"],
        }
    return row
