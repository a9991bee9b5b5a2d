"""Make the mirror's rows say what the API server said: the only writer of mirrored rows.

`apply` takes objects as they are now and objects that are gone, `sweep` removes what a full
list lacks. Both run inside the caller's transaction, which also moves the cursor. What is
derived from the rows (pools, devices, assignments, history) follows in the same
transaction, so no reader ever sees one without the other.

Rows are found by namespace and name, the identity that the API server keeps unique at any
moment; a UID that differs under a known name is another object, and the old one is gone.

An object that trips the writing over something in it, or that the database refuses, is
noted (`problems`) and passed over, so that the others of its batch do not wait for it to be
mended. What is mirrored of it stays as it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import Value
from django.db.models.base import ModelState
from django.db.models.functions import Concat

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, Kind
from dra_console.mirror.models import Cluster, Device, Pod, PodUse, ResourceClaim, ResourceSlice
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync import bulk, history, problems
from dra_console.sync.announce import announce
from dra_console.sync.assignments import follow_allocations
from dra_console.sync.changes import RowChange, changes_of
from dra_console.sync.claims import complete_claims, name_templates
from dra_console.sync.errors import STUMBLES, NoIdentityError
from dra_console.sync.mirrored import MIRRORED, Mirrored
from dra_console.sync.objects import (
    Metadata,
    ObjectKey,
    alteration_of,
    key_of,
    metadata_of,
    storable,
)
from dra_console.sync.pod_uses import follow_uses, sweep_uses
from dra_console.sync.pools import fold_pools

log = structlog.get_logger()

DISTRUSTED: Final = "?"
"""Makes of a version one that no API server gives out."""

SWEEP_ROWS: Final = 500
"""Removed at a time, to bound memory and the number of SQL parameters."""


@dataclass(slots=True)
class _Batch:
    """The last word on each name; no name is in both."""

    present: dict[ObjectKey, tuple[Metadata, JsonObject]] = field(default_factory=dict)

    absent: set[ObjectKey] = field(default_factory=set)

    stored: AbstractSet[ObjectKey] | None = None
    """The only names that may have a row; `None` if that is not known."""

    nameless: dict[ObjectKey, str] = field(default_factory=dict)
    """What cannot be told from other objects, and why."""

    def only(self, keys: Iterable[ObjectKey]) -> "_Batch":
        """Return the part of it that is about these names."""
        wanted = set(keys)
        return _Batch(
            present={key: each for key, each in self.present.items() if key in wanted},
            absent=self.absent & wanted,
            stored=self.stored,
        )

    def altered(self, changes: Iterable[RowChange[MirroredObject]]) -> dict[ObjectKey, str]:
        """Say of which objects not every character was kept."""
        rows = {ObjectKey(row.namespace, row.name): row for _, row in changes if row is not None}
        return {
            key: alteration_of(subject)
            for key, (_, subject) in self.present.items()
            if (row := rows.get(key)) is not None and row.raw is not subject
        }


def apply(  # noqa: PLR0913 - what a caller knows of a batch
    cluster: Cluster,
    *,
    kind: Kind,
    objects: Iterable[JsonObject],
    gone: Iterable[ObjectKey] = (),
    seen_at: datetime,
    stored: AbstractSet[ObjectKey] | None = None,
) -> None:
    """Bring the rows of `kind` in line with objects that are there and names that are free.

    Of several objects under one name the last counts. Objects that are mirrored in this
    version already cost no write. `stored` are the names that may have a row, where the
    caller knows them: the others are not looked for.
    """
    mirrored = MIRRORED[kind.plural]
    if kind == PODS:
        objects, gone = list(objects), set(gone)
        follow_uses(cluster, pods=objects, gone=gone, stored=stored)
    batch = _batch(mirrored, objects=objects, gone=gone, stored=stored)
    _write(cluster, mirrored, batch=batch, seen_at=seen_at)
    if batch.nameless:
        problems.note(cluster, kind=kind, messages=batch.nameless, seen_at=seen_at)


def distrust(cluster: Cluster, *, kind: Kind) -> None:
    """Let the next list write every object anew, whatever version it is mirrored in."""
    distrusted = Concat("resource_version", Value(DISTRUSTED))
    MIRRORED[kind.plural].rows(cluster).update(resource_version=distrusted)
    if kind == PODS:
        PodUse.objects.filter(cluster=cluster).update(resource_version=distrusted)


def sweep(
    cluster: Cluster,
    *,
    kind: Kind,
    listed: AbstractSet[ObjectKey],
    seen_at: datetime,
    stored: AbstractSet[ObjectKey] | None = None,
) -> None:
    """Remove the rows of `kind` that a full list did not hold; `stored` is as in `apply`."""
    problems.forget_all_but(cluster, kind=kind, listed=listed)
    if stored is not None and stored <= listed:
        return
    mirrored = MIRRORED[kind.plural]
    rows = mirrored.rows(cluster)
    lost = iter(
        [
            pk
            for pk, namespace, name in rows.values_list("pk", "namespace", "name")
            if ObjectKey(namespace, name) not in listed
        ]
    )
    while pks := list(islice(lost, SWEEP_ROWS)):
        changes = _remove(mirrored, list(rows.filter(pk__in=pks)))
        _derive(cluster, kind=kind, changes=changes, seen_at=seen_at)
        log.info("rows swept", cluster=cluster.name, plural=kind.plural, rows=len(pks))
    if kind == PODS:
        sweep_uses(cluster, listed=listed)


def _batch(
    mirrored: Mirrored,
    *,
    objects: Iterable[JsonObject],
    gone: Iterable[ObjectKey],
    stored: AbstractSet[ObjectKey] | None,
) -> _Batch:
    batch = _Batch(absent=set(gone), stored=stored)
    for subject in objects:
        try:
            metadata = metadata_of(subject)
        except NoIdentityError as error:
            batch.nameless[key_of(subject)] = f"not mirrored: {error}"
            continue
        if mirrored.concerns_us(subject):
            batch.present[metadata.key] = (metadata, subject)
            batch.absent.discard(metadata.key)
        else:
            batch.absent.add(metadata.key)
            batch.present.pop(metadata.key, None)
    return batch


def _write(cluster: Cluster, mirrored: Mirrored, *, batch: _Batch, seen_at: datetime) -> None:
    """Write a batch; if anything in it is in the way, its halves, down to the one object."""
    try:
        stored = _stored_and_outdated(cluster, mirrored, batch=batch)
        if not batch.present and not batch.absent:
            return
        with transaction.atomic():
            _write_at_once(cluster, mirrored, batch=batch, stored=stored, seen_at=seen_at)
    except STUMBLES as error:
        keys = sorted({*batch.present, *batch.absent})
        if len(keys) == 1:
            _pass_over(cluster, mirrored.kind, keys[0], error, seen_at=seen_at)
            return
        for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
            _write(cluster, mirrored, batch=batch.only(half), seen_at=seen_at)


def _write_at_once(
    cluster: Cluster,
    mirrored: Mirrored,
    *,
    batch: _Batch,
    stored: Mapping[ObjectKey, MirroredObject],
    seen_at: datetime,
) -> None:
    changes = _remove(mirrored, [row for key, row in stored.items() if key in batch.absent])
    changes += _put(cluster, mirrored, present=batch.present, stored=stored, seen_at=seen_at)
    _derive(cluster, kind=mirrored.kind, changes=changes, seen_at=seen_at)
    problems.forget(cluster, kind=mirrored.kind, keys={*batch.present, *batch.absent})
    if altered := batch.altered(changes):
        problems.note(cluster, kind=mirrored.kind, messages=altered, seen_at=seen_at)


def _pass_over(
    cluster: Cluster, kind: Kind, key: ObjectKey, error: Exception, *, seen_at: datetime
) -> None:
    log.warning("object passed over", plural=kind.plural, name="/".join(key), exc_info=error)
    message = f"this version is not mirrored: {type(error).__name__}: {error}"
    problems.note(cluster, kind=kind, messages={key: message}, seen_at=seen_at)


def _stored_and_outdated(
    cluster: Cluster, mirrored: Mirrored, *, batch: _Batch
) -> dict[ObjectKey, MirroredObject]:
    """Return the rows that the batch replaces or removes; drop what is mirrored already.

    Two queries, so that a relist in which little changed reads few whole objects.
    """
    keys = {*batch.present, *batch.absent}
    if batch.stored is not None:
        keys &= batch.stored
    if not keys:
        return {}
    # With the namespaces, so that the index finds each name and does not walk all rows.
    rows = (
        mirrored.rows(cluster)
        .order_by()
        .filter(namespace__in={key.namespace for key in keys}, name__in={key.name for key in keys})
    )
    outdated = []
    for pk, namespace, name, uid, version in rows.values_list(
        "pk", "namespace", "name", "uid", "resource_version"
    ):
        key = ObjectKey(namespace, name)
        if key in batch.present:
            metadata, _ = batch.present[key]
            if (uid, version) == (metadata.uid, metadata.resource_version):
                del batch.present[key]
            else:
                outdated.append(pk)
        elif key in batch.absent:
            outdated.append(pk)
    if not outdated:
        return {}
    return {
        ObjectKey(row.namespace, row.name): row
        for row in mirrored.rows(cluster).filter(pk__in=outdated)
    }


def _remove(mirrored: Mirrored, rows: Sequence[MirroredObject]) -> list[RowChange[MirroredObject]]:
    if not rows:
        return []
    pks = [row.pk for row in rows]
    if mirrored.model is ResourceSlice:
        # Spares Django to load each device before it goes.
        Device.objects.filter(slice_id__in=pks).delete()
    mirrored.model._default_manager.filter(pk__in=pks).delete()  # noqa: SLF001 - Django's documented name
    return [RowChange(before=row, after=None) for row in rows]


def _put(
    cluster: Cluster,
    mirrored: Mirrored,
    *,
    present: Mapping[ObjectKey, tuple[Metadata, JsonObject]],
    stored: Mapping[ObjectKey, MirroredObject],
    seen_at: datetime,
) -> list[RowChange[MirroredObject]]:
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


def _derive(
    cluster: Cluster,
    *,
    kind: Kind,
    changes: Sequence[RowChange[MirroredObject]],
    seen_at: datetime,
) -> None:
    if not changes:
        return
    fold_pools(cluster, changes=changes_of(ResourceSlice, changes))
    devices_moved = follow_allocations(
        cluster, changes=changes_of(ResourceClaim, changes), seen_at=seen_at
    )
    name_templates(
        cluster, pods=[each.after for each in changes_of(Pod, changes) if each.after is not None]
    )
    history.record(kind.plural, changes=changes, seen_at=seen_at)
    announce(cluster, plural=kind.plural, changes=changes, devices_moved=devices_moved)
