"""What a list or a watch said at once, the last word on each name, and what is mirrored of it."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync.changes import RowChange
from dra_console.sync.errors import NoIdentityError
from dra_console.sync.mirrored import Mirrored
from dra_console.sync.objects import Metadata, ObjectKey, alteration_of, key_of, metadata_of


@dataclass(slots=True)
class Batch:
    """The last word on each name; no name is in both."""

    present: dict[ObjectKey, tuple[Metadata, JsonObject]] = field(default_factory=dict)

    absent: set[ObjectKey] = field(default_factory=set)

    stored: AbstractSet[ObjectKey] | None = None
    """The only names that may have a row; `None` if that is not known."""

    nameless: dict[ObjectKey, str] = field(default_factory=dict)
    """What cannot be told from other objects, and why."""

    def only(self, keys: Iterable[ObjectKey]) -> "Batch":
        """Return the part of it that is about these names."""
        wanted = set(keys)
        return Batch(
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


def batch_of(
    mirrored: Mirrored,
    *,
    objects: Iterable[JsonObject],
    gone: Iterable[ObjectKey],
    stored: AbstractSet[ObjectKey] | None,
) -> Batch:
    """Put it together; what does not concern us counts as gone, what has no identity is named."""
    batch = Batch(absent=set(gone), stored=stored)
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


def stored_and_outdated(
    cluster: Cluster, mirrored: Mirrored, *, batch: Batch
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
