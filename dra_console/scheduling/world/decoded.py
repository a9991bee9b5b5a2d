"""Mirrored objects, each decoded once for each version and shared by all who read them.

A cluster may hold 20,000 claims and 5,000 slices, of which a second changes a few. So only
identity and version of every row are read; the object itself is fetched where its version
is new, some rows at a time, and its JSON is dropped as soon as it is decoded.

An object that cannot be decoded is kept as the error that says why: what it would be of use
for is for the reader to decide.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Final, Generic, TypeVar

from django.db.models import QuerySet

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror import models as mirror
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.scheduling.world.left_out import LeftOut

ROWS_AT_ONCE: Final = 200
"""Fetched with their JSON at a time, to bound memory and the number of SQL parameters."""

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, slots=True)
class Entry(Generic[Decoded]):
    """One object as the mirror shows it."""

    uid: str
    resource_version: str

    read: Decoded | LeftOut
    """The object, or why it cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries(Generic[Decoded]):
    """All objects of one kind of a cluster by UID, in the order of the kind's rows.

    Reading them again gives the very same as long as none has changed.
    """

    of: Mapping[str, Entry[Decoded]]

    readable: tuple[Decoded, ...] = field(init=False)
    unreadable: tuple[LeftOut, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Sort out what could be decoded."""
        readable: list[Decoded] = []
        unreadable: list[LeftOut] = []
        for entry in self.of.values():
            if isinstance(entry.read, LeftOut):
                unreadable.append(entry.read)
            else:
                readable.append(entry.read)
        object.__setattr__(self, "readable", tuple(readable))
        object.__setattr__(self, "unreadable", tuple(unreadable))


class DecodedKind(Generic[Decoded]):
    """Decoded objects of one kind, of all clusters; safe to share between threads."""

    def __init__(
        self,
        kind: Kind,
        model: type[MirroredObject],
        decode: Callable[[JsonObject], Decoded],
    ) -> None:
        """Decode the rows of `model`, which hold objects of `kind`, by `decode`."""
        self.kind: Final = kind
        self._model: Final = model
        self._decode: Final = decode
        self._kept: Final[dict[int, Entries[Decoded]]] = {}
        self._lock: Final = Lock()

    def read(self, cluster: mirror.Cluster) -> Entries[Decoded]:
        """Read all objects; those of versions that are known cost next to nothing.

        What a row became since its version was looked up is taken as it is.
        """
        rows = self._model._default_manager.filter(cluster=cluster)  # noqa: SLF001 - Django's documented name
        with self._lock:
            known = self._kept.get(cluster.pk)
        found: dict[str, Entry[Decoded] | None] = {}
        new: list[int] = []
        for pk, uid, version in rows.values_list("pk", "uid", "resource_version"):
            entry = known.of.get(uid) if known else None
            if entry is None or entry.resource_version != version:
                entry = None
                new.append(pk)
            found[uid] = entry
        if known and not new and [*found] == [*known.of]:
            return known
        for entry in self._fetch(rows, new):
            found[entry.uid] = entry
        entries = Entries({uid: entry for uid, entry in found.items() if entry is not None})
        with self._lock:
            self._kept[cluster.pk] = entries
        return entries

    def decode(self, raw: JsonObject, *, namespace: str, name: str) -> Decoded | LeftOut:
        """Decode one object, or say why it cannot be."""
        try:
            return self._decode(raw)
        except DecodeError as error:
            return LeftOut(self.kind.plural, namespace, name, error.path, error.message)

    def forget_all_but(self, cluster_ids: Collection[int]) -> None:
        """Drop the objects of clusters that the console no longer has."""
        with self._lock:
            for gone in self._kept.keys() - cluster_ids:
                del self._kept[gone]

    def _fetch(
        self, rows: QuerySet[MirroredObject], pks: Iterable[int]
    ) -> Iterator[Entry[Decoded]]:
        waiting = iter(pks)
        while chunk := list(islice(waiting, ROWS_AT_ONCE)):
            fetched = rows.order_by().filter(pk__in=chunk)
            for uid, version, namespace, name, raw in fetched.values_list(
                "uid", "resource_version", "namespace", "name", "raw"
            ):
                yield Entry(uid, version, self.decode(raw, namespace=namespace, name=name))


NODE_ROWS: Final = DecodedKind(NODES, mirror.Node, decode_node)
SLICE_ROWS: Final = DecodedKind(RESOURCE_SLICES, mirror.ResourceSlice, decode_slice)
CLASS_ROWS: Final = DecodedKind(DEVICE_CLASSES, mirror.DeviceClass, decode_class)
CLAIM_ROWS: Final = DecodedKind(RESOURCE_CLAIMS, mirror.ResourceClaim, decode_claim)
RULE_ROWS: Final = DecodedKind(DEVICE_TAINT_RULES, mirror.DeviceTaintRule, decode_taint_rule)


def forget_removed_clusters() -> None:
    """Drop what is kept of clusters that were removed from the console."""
    cluster_ids = set(mirror.Cluster.objects.values_list("pk", flat=True))
    for kind in (NODE_ROWS, SLICE_ROWS, CLASS_ROWS, CLAIM_ROWS, RULE_ROWS):
        kind.forget_all_but(cluster_ids)
