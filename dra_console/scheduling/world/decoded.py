"""Mirrored objects, each decoded once for each version and shared by all who read them.

A cluster may hold 20,000 claims and 5,000 slices, of which a second changes a few. So only
identity and version of every row are read; the object itself is fetched where its version
is new, some rows at a time, and its JSON is dropped as soon as it is decoded.

An object that cannot be decoded is kept as the error that says why: what it would be of use
for is for the reader to decide.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, Final, Generic, TypeVar

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
from dra_console.mirror.raw_objects import parsed_raw, raw_text
from dra_console.scheduling.world.left_out import LeftOut

ROWS_AT_ONCE: Final = 200
"""Fetched with their JSON at a time, to bound memory and the number of SQL parameters."""

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, slots=True)
class Entry(Generic[Decoded]):
    """One object as the mirror shows it."""

    key: str
    """`namespace/name`, or the name of what is in no namespace."""

    uid: str
    resource_version: str

    read: Decoded | LeftOut
    """The object, or why it cannot be read."""


@dataclass(slots=True, eq=False)
class Entries(Generic[Decoded]):
    """All objects of one kind of a cluster by key, in the order of the kind's rows.

    Reading them again gives the very same as long as none has changed.
    """

    of: Mapping[str, Entry[Decoded]]
    _readable: tuple[Decoded, ...] | None = None

    @property
    def readable(self) -> tuple[Decoded, ...]:
        """List what could be decoded; the very same each time, as what is derived from it is."""
        if self._readable is None:
            self._readable = tuple(
                each.read for each in self.of.values() if not isinstance(each.read, LeftOut)
            )
        return self._readable

    @property
    def unreadable(self) -> tuple[LeftOut, ...]:
        """Say of the others why not."""
        return tuple(each.read for each in self.of.values() if isinstance(each.read, LeftOut))


_kinds: "Final[list[DecodedKind[Any]]]" = []
"""All that keep decoded objects, here and in the rooms above."""


class DecodedKind(Generic[Decoded]):
    """Decoded objects of one kind, of all clusters; safe to share between threads."""

    def __init__(
        self, kind: Kind, model: type[MirroredObject], decode: Callable[[JsonObject], Decoded]
    ) -> None:
        """Decode the rows of `model`, which hold objects of `kind`, by `decode`."""
        self.kind: Final = kind
        self._model: Final = model
        self._decode: Final = decode
        self._kept: Final[dict[int, Entries[Decoded]]] = {}
        self._lock: Final = Lock()
        _kinds.append(self)

    def read(self, cluster: mirror.Cluster) -> Entries[Decoded]:
        """Read all objects; those of versions that are known cost next to nothing.

        What a row became since its version was looked up is taken as it is.
        """
        rows = self._rows(cluster)
        with self._lock:
            known = self._kept.get(cluster.pk)
        found: dict[str, Entry[Decoded] | None] = {}
        new: list[int] = []
        versions = rows.values_list("pk", "namespace", "name", "uid", "resource_version")
        for pk, namespace, name, uid, version in versions.iterator():
            key = key_of(namespace, name)
            entry = known.of.get(key) if known else None
            if entry is None or (entry.uid, entry.resource_version) != (uid, version):
                entry = None
                new.append(pk)
            found[key] = entry
        if known and not new and [*found] == [*known.of]:
            return known
        waiting = iter(new)
        while chunk := list(islice(waiting, ROWS_AT_ONCE)):
            for entry in self._fetch(rows.filter(pk__in=chunk)):
                found[entry.key] = entry
        entries = Entries({key: entry for key, entry in found.items() if entry is not None})
        with self._lock:
            self._kept[cluster.pk] = entries
        return entries

    def read_some(
        self, cluster: mirror.Cluster, keys: Collection[str]
    ) -> Mapping[str, Entry[Decoded] | None]:
        """Read the objects of these keys as they are now; `None` for those that are gone."""
        wanted: dict[str, Entry[Decoded] | None] = dict.fromkeys(keys)
        names = [name_of(key) for key in wanted]
        rows = self._rows(cluster).filter(
            namespace__in={namespace for namespace, _ in names},
            name__in={name for _, name in names},
        )
        return wanted | {each.key: each for each in self._fetch(rows) if each.key in wanted}

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

    def _rows(self, cluster: mirror.Cluster) -> QuerySet[MirroredObject]:
        return self._model._default_manager.filter(cluster=cluster)  # noqa: SLF001 - Django's documented name

    def _fetch(self, rows: QuerySet[MirroredObject]) -> Iterator[Entry[Decoded]]:
        for namespace, name, uid, version, text in rows.order_by().values_list(
            "namespace", "name", "uid", "resource_version", raw_text()
        ):
            read = self.decode(parsed_raw(text), namespace=namespace, name=name)
            yield Entry(key_of(namespace, name), uid, version, read)


def key_of(namespace: str, name: str) -> str:
    """Spell a key."""
    return f"{namespace}/{name}" if namespace else name


def name_of(key: str) -> tuple[str, str]:
    """Take a key apart: namespace and name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


NODE_ROWS: Final = DecodedKind(NODES, mirror.Node, decode_node)
SLICE_ROWS: Final = DecodedKind(RESOURCE_SLICES, mirror.ResourceSlice, decode_slice)
CLASS_ROWS: Final = DecodedKind(DEVICE_CLASSES, mirror.DeviceClass, decode_class)
CLAIM_ROWS: Final = DecodedKind(RESOURCE_CLAIMS, mirror.ResourceClaim, decode_claim)
RULE_ROWS: Final = DecodedKind(DEVICE_TAINT_RULES, mirror.DeviceTaintRule, decode_taint_rule)


def forget_removed_clusters() -> None:
    """Drop what is kept of clusters that were removed from the console."""
    forget_all_but(set(mirror.Cluster.objects.values_list("pk", flat=True)))


def forget_all_but(cluster_ids: Collection[int]) -> None:
    """Drop what is kept of all other clusters."""
    for kind in _kinds:
        kind.forget_all_but(cluster_ids)
