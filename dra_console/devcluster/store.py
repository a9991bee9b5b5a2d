"""The objects of the embedded cluster: what etcd and the registry are to Kubernetes.

Everything is in memory, and on disk through the journal before a caller learns of it. All
methods are synchronous and run on the event loop's thread, so between reading an object and
writing it nothing can come between: `resourceVersion` alone decides races of clients.
Objects go in and come out as copies; a caller may change what it holds.
"""

from pathlib import Path
from typing import Final, NamedTuple

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.changes import Change, creation, named, removal, replacement
from dra_console.devcluster.errors import AlreadyExistsError, ConflictError, NotFoundError
from dra_console.devcluster.eventlog import Event, EventLog, EventType, Subscription
from dra_console.devcluster.journal import Entry, Journal
from dra_console.devcluster.metadata import Deletion, metadata_of, text
from dra_console.devcluster.stored import Stored, key_of, raw_of
from dra_console.kube.kinds import BY_PLURAL, NAMESPACES, Kind

KEPT_EVENTS: Final = 4_000
"""How many writes a watch can look back; older versions answer 410.

Each keeps an object in memory, some 20 kB a claim, so this many cost less than 100 MB.
"""

FIRST_VERSION: Final = 1
"""Version of the empty store. Never 0, which asks a watch for the current state."""

GENERATED_NAME_TRIES: Final = 8
"""How often a name is made up before it counts as taken, as in Kubernetes 1.30 and later."""


class Listed(NamedTuple):
    """The objects of a kind and the version to watch from."""

    items: list[JsonObject]
    resource_version: int


class Store:
    """All objects, by kind, namespace and name. Create it once a process."""

    def __init__(self, path: Path, *, kept_events: int = KEPT_EVENTS) -> None:
        """Open the SQLite file `path`, or create it.

        Raises:
            JournalBusyError: another process has it open.

        """
        self._journal = Journal(path)
        self._objects: dict[Kind, dict[tuple[str, str], Stored]] = {}
        for plural, raw in self._journal.objects():
            stored = Stored.read(raw)
            self._objects.setdefault(BY_PLURAL[plural], {})[stored.key] = stored
        events = [Event.read(entry) for entry in self._journal.entries()]
        self._log = EventLog(
            events,
            resource_version=events[-1].stored.resource_version if events else FIRST_VERSION,
            limit=kept_events,
        )

    @property
    def resource_version(self) -> int:
        """Version of the last write; it grows with each, also across restarts."""
        return self._log.resource_version

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject:
        """Return one object; `namespace` is empty for cluster-scoped kinds.

        Raises:
            NotFoundError: there is none.

        """
        return self.stored(kind, namespace, name).copy()

    def stored(self, kind: Kind, namespace: str, name: str) -> Stored:
        """As `get`, without the copy.

        Raises:
            NotFoundError: there is none.

        """
        try:
            return self._objects.get(kind, {})[namespace, name]
        except KeyError:
            raise NotFoundError.of(kind, name) from None

    def list(self, kind: Kind, namespace: str | None = None) -> Listed:
        """Return the objects of a kind, of all namespaces for `None`."""
        stored = self.at(self.resource_version, kind, namespace=namespace)
        return Listed([item.copy() for item in stored], self.resource_version)

    def at(self, resource_version: int, kind: Kind, *, namespace: str | None) -> tuple[Stored, ...]:
        """Return the objects as they were at a version, by namespace and name.

        Raises:
            GoneError: the log does not reach back so far.

        """
        objects = self._log.rewound(self._objects.get(kind, {}), kind=kind, to=resource_version)
        keys = sorted(key for key in objects if namespace is None or key[0] == namespace)
        return tuple(objects[key] for key in keys)

    def create(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """Create an object and return it as stored. See `prepare_create` for what it raises."""
        return self.commit(self.prepare_create(kind, obj))

    def update(self, kind: Kind, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        """Replace an object and return it as stored. See `prepare_update` for what it raises."""
        return self.commit(self.prepare_update(kind, obj, subresource=subresource))

    def delete(  # noqa: PLR0913 - the options of a delete request, each optional
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> JsonObject:
        """Delete an object, or mark it deleted where a finalizer or a kubelet holds it.

        A pod on a node stays with `deletionTimestamp` until it is deleted with a grace period
        of 0, which is the kubelet's part. See `prepare_delete` for what it raises.
        """
        deletion = Deletion(
            uid=uid, resource_version=resource_version, grace_period_seconds=grace_period_seconds
        )
        return self.commit(self.prepare_delete(kind, namespace, name, deletion=deletion))

    def watch(self, kind: Kind | None, *, since: int) -> Subscription:
        """Follow the writes after version `since`, of all kinds for `None`.

        Raises:
            GoneError: the log does not reach back so far.

        """
        return Subscription(self._log, kind=kind, since=since)

    def prepare_create(self, kind: Kind, obj: JsonObject) -> Change:
        """Check a new object and complete it.

        Raises:
            AlreadyExistsError: the name is taken.
            BadRequestError: metadata that cannot be read, or a version in it.
            ForbiddenError, InvalidError: a rule of the kind.
            NotFoundError: the namespace does not exist.

        """
        taken = self._objects.get(kind, {})
        value = named(kind, obj)
        for _ in range(GENERATED_NAME_TRIES):
            if key_of(value) not in taken:
                break
            value = named(kind, obj)
        key = key_of(value)
        namespace = self.get(NAMESPACES, "", key[0]) if kind.namespaced else None
        change = creation(kind, value, namespace=namespace)
        if key in taken:
            raise AlreadyExistsError.of(kind, key[1])
        return change

    def prepare_update(self, kind: Kind, obj: JsonObject, *, subresource: str = "") -> Change:
        """Check a changed object and complete it; `subresource` says which part may change.

        Raises:
            BadRequestError: metadata that cannot be read.
            ConflictError: `resourceVersion` or `uid` are given and are not the stored ones.
            ForbiddenError, InvalidError: a rule of the kind.
            NotFoundError: no such object.

        """
        metadata = metadata_of(obj)
        namespace = text(metadata, "namespace") if kind.namespaced else ""
        return replacement(
            kind,
            obj,
            previous=self.stored(kind, namespace, text(metadata, "name")),
            subresource=subresource,
            namespace=self.get(NAMESPACES, "", namespace) if kind.namespaced else None,
        )

    def prepare_delete(
        self, kind: Kind, namespace: str, name: str, *, deletion: Deletion
    ) -> Change:
        """Check a deletion; the change is of type MODIFIED where the object is still held.

        Raises:
            ConflictError: a precondition does not hold.
            NotFoundError: no such object.

        """
        return removal(kind, previous=self.stored(kind, namespace, name), deletion=deletion)

    def commit(self, change: Change) -> JsonObject:
        """Do a prepared write and return the object as stored.

        Raises:
            ConflictError: another write to the object came between.

        """
        key = key_of(change.value)
        if self._objects.get(change.kind, {}).get(key) is not change.previous:
            raise ConflictError.of(change.kind, key[1])
        if change.is_empty:
            return change.value
        version = self.resource_version + 1
        metadata_of(change.value)["resourceVersion"] = str(version)
        gone = change.type is EventType.DELETED
        last = change.last_state if gone else change.value
        metadata_of(last)["resourceVersion"] = str(version)
        stored = Stored.read(raw_of(last))
        entry = Entry(
            resource_version=version,
            type=change.type,
            plural=change.kind.plural,
            namespace=stored.namespace,
            name=stored.name,
            value=stored.raw,
            previous=change.previous.raw if change.previous else None,
        )
        self._journal.write(entry, gone=gone)
        objects = self._objects.setdefault(change.kind, {})
        if gone:
            del objects[key]
        else:
            objects[key] = stored
        if self._log.append(Event(change.type, change.kind, stored, change.previous)):
            self._journal.forget_before(self._log.oldest_version + 1)
        return change.value

    def compact(self) -> None:
        """Forget what came before now: older versions are gone for watches and lists (410)."""
        self._log.forget()
        # The last event stays in the file, which knows the version by it.
        self._journal.forget_before(self.resource_version)

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._journal.close()
