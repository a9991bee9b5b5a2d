"""Make the mirror's rows say what the API server said, whatever it is.

Together with `new_objects`, which writes the usual of a first list, the only writer of them.

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
from datetime import datetime
from itertools import islice
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Concat

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, Kind
from dra_console.mirror.models import Cluster, Pod, PodUse, ResourceClaim, ResourceSlice
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync import history, problems
from dra_console.sync.announce import announce
from dra_console.sync.assignments import follow_allocations
from dra_console.sync.batches import Batch, batch_of, stored_and_outdated
from dra_console.sync.changes import RowChange, changes_of
from dra_console.sync.claims import name_templates
from dra_console.sync.errors import STUMBLES
from dra_console.sync.mirrored import MIRRORED, Mirrored
from dra_console.sync.object_rows import put_rows, remove_rows
from dra_console.sync.objects import ObjectKey
from dra_console.sync.pod_uses import follow_uses, sweep_uses
from dra_console.sync.pools import fold_pools

log = structlog.get_logger()

DISTRUSTED: Final = "?"
"""Makes of a version one that no API server gives out."""

SWEEP_ROWS: Final = 500
"""Removed at a time, to bound memory and the number of SQL parameters."""


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
    batch = batch_of(mirrored, objects=objects, gone=gone, stored=stored)
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
        changes = remove_rows(mirrored, list(rows.filter(pk__in=pks)))
        _derive(cluster, kind=kind, changes=changes, seen_at=seen_at)
        log.info("rows swept", cluster=cluster.name, plural=kind.plural, rows=len(pks))
    if kind == PODS:
        sweep_uses(cluster, listed=listed)


def _write(cluster: Cluster, mirrored: Mirrored, *, batch: Batch, seen_at: datetime) -> None:
    """Write a batch; if anything in it is in the way, its halves, down to the one object."""
    try:
        stored = stored_and_outdated(cluster, mirrored, batch=batch)
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
    batch: Batch,
    stored: Mapping[ObjectKey, MirroredObject],
    seen_at: datetime,
) -> None:
    changes = remove_rows(mirrored, [row for key, row in stored.items() if key in batch.absent])
    changes += put_rows(cluster, mirrored, present=batch.present, stored=stored, seen_at=seen_at)
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
