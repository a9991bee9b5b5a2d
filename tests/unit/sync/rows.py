"""What the mirror holds of a cluster, in a form that two clusters can be compared by."""

from django.db import models

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Cluster, Device, DeviceAssignment, Pool
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.reading import object_in

WHEN_SEEN = frozenset({"allocated_at", "assigned_at"})
"""Depend on the moment of sight where the object states no time."""


def rows_of(cluster: Cluster) -> dict[str, list[str]]:
    """Return all rows but history; times of sight and primary keys are left out."""
    tables = {plural: mirrored.rows(cluster) for plural, mirrored in MIRRORED.items()}
    held = DeviceAssignment.objects.filter(cluster=cluster, released_at=None)
    return {
        **{plural: sorted(_text_of(row) for row in rows) for plural, rows in tables.items()},
        "pools": sorted(_text_of(row) for row in Pool.objects.filter(cluster=cluster)),
        "devices": sorted(_text_of(row) for row in Device.objects.filter(cluster=cluster)),
        "held": sorted(_text_of(row) for row in held),
    }


def _text_of(row: models.Model) -> str:
    columns = {
        field.name: str(getattr(row, field.name))
        for field in row._meta.fields
        if field.name not in WHEN_SEEN | {"id", "cluster"}
    }
    return str(sorted(columns.items()))


def at_version(subject: JsonObject, version: int | str, **metadata: Json) -> JsonObject:
    """Return the object as it is at another resource version."""
    changed = object_in(subject, "metadata") | {"resourceVersion": str(version)} | metadata
    return {**subject, "metadata": changed}
