"""The rows of mirrored objects: made, put in place of those before, removed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from django.db.models.base import ModelState

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, Device, ResourceClaim, ResourceSlice
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync import bulk
from dra_console.sync.changes import RowChange
from dra_console.sync.claims import complete_claims
from dra_console.sync.mirrored import Mirrored
from dra_console.sync.objects import Metadata, ObjectKey, storable


def remove_rows(
    mirrored: Mirrored, rows: Sequence[MirroredObject]
) -> list[RowChange[MirroredObject]]:
    """Delete rows, and with slices their devices."""
    if not rows:
        return []
    pks = [row.pk for row in rows]
    if mirrored.model is ResourceSlice:
        # Spares Django to load each device before it goes.
        Device.objects.filter(slice_id__in=pks).delete()
    mirrored.model._default_manager.filter(pk__in=pks).delete()  # noqa: SLF001 - Django's documented name
    return [RowChange(before=row, after=None) for row in rows]


def put_rows(
    cluster: Cluster,
    mirrored: Mirrored,
    *,
    present: Mapping[ObjectKey, tuple[Metadata, JsonObject]],
    stored: Mapping[ObjectKey, MirroredObject],
    seen_at: datetime,
) -> list[RowChange[MirroredObject]]:
    """Write objects that are there over the `stored` rows of their names, or as new ones."""
    if not present:
        return []
    rows = [
        row_of(cluster, mirrored, metadata, subject, seen_at=seen_at)
        for _, (metadata, subject) in sorted(present.items(), key=lambda item: item[0])
    ]
    before = {row.uid: row for row in stored.values()}
    claims = [row for row in rows if isinstance(row, ResourceClaim)]
    if claims:
        complete_claims(
            cluster,
            claims,
            before={uid: row for uid, row in before.items() if isinstance(row, ResourceClaim)},
            seen_at=seen_at,
        )
    identity = ("cluster", "namespace", "name") if mirrored.kind.namespaced else ("cluster", "name")
    columns = {each.name for each in mirrored.model._meta.fields} - {"id", *identity}  # noqa: SLF001 - Django's documented name
    # Nobody else writes here meanwhile, so what had no row has none: no index need be asked.
    bulk.write(mirrored.model, [row for row in rows if _key_of(row) not in stored])
    bulk.write(
        mirrored.model,
        [row for row in rows if _key_of(row) in stored],
        unique_fields=identity,
        update_fields=columns,
    )
    taken_over = [
        row
        for key, (metadata, _) in present.items()
        if (row := stored.get(key)) is not None and row.uid != metadata.uid
    ]
    return [
        *(RowChange(before=row, after=None) for row in taken_over),
        *(RowChange(before=before.get(row.uid), after=row) for row in rows),
    ]


def _key_of(row: MirroredObject) -> ObjectKey:
    return ObjectKey(row.namespace, row.name)


def row_of(
    cluster: Cluster,
    mirrored: Mirrored,
    metadata: Metadata,
    subject: JsonObject,
    *,
    seen_at: datetime,
) -> MirroredObject:
    """Return the row of an object; not stored yet, and without what depends on other rows."""
    raw = storable(subject)
    values = {
        "cluster_id": cluster.pk,
        "namespace": metadata.key.namespace,
        "name": metadata.key.name,
        "uid": metadata.uid,
        "resource_version": metadata.resource_version,
        "created_at": metadata.created_at or seen_at,
        "deletion_requested_at": metadata.deletion_requested_at,
        "raw": raw,
        **mirrored.columns_of(raw),
    }
    # As Django unpickles a row: its constructor would take as long as all that is above.
    row = mirrored.model.__new__(mirrored.model)
    row.__dict__.update(_state=ModelState(), **_defaults_of(mirrored.model))
    row.__dict__.update(values)
    return row


@cache
def _defaults_of(model: type[MirroredObject]) -> Mapping[str, Any]:
    """Return what a row holds that is told nothing; lists and objects it always is told."""
    return {field.attname: field.get_default() for field in model._meta.concrete_fields}  # noqa: SLF001 - Django's documented name
