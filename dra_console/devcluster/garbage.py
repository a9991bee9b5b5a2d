"""Deletes what its owners left behind, as Kubernetes' garbage collector does.

An object whose owners are all gone is deleted; one that has other owners left loses the
references to those that are gone. Whoever deletes an owner may ask for another order by a
finalizer: dependents first (`foregroundDeletion`), or dependents kept (`orphan`).
An owner of a kind that is not served here counts as present: nothing can be known about it.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

import structlog

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import GoneError, NotFoundError
from dra_console.devcluster.eventlog import Event, EventType
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from dra_console.devcluster.resources import RESOURCES
from dra_console.devcluster.store import Store
from dra_console.devcluster.stored import Stored
from dra_console.kube.kinds import NODES, PODS, Kind

log = structlog.get_logger()

OWNER_KINDS: Final = MappingProxyType(
    {
        (resource.kind.api_version, resource.kind.kind): resource.kind
        for resource in RESOURCES
        if resource.is_stored
    }
)

Key: TypeAlias = tuple[Kind, str, str]
"""Kind, namespace and name of an object."""


@dataclass(slots=True)
class GarbageCollector:
    """Runs for the life of the process; one for a store."""

    store: Store
    _dependents: dict[str, set[Key]] = field(default_factory=dict)
    """Objects that name an owner, by the owner's uid. May name some that are gone."""

    async def run(self) -> None:
        """Look at everything once and then at what changes, until cancelled."""
        while True:
            since = self.store.resource_version
            self.collect_all()
            try:
                async for event in self.store.watch(None, since=since):
                    self._handle(event)
                    # Other tasks get their turn, however much there is to collect.
                    await asyncio.sleep(0)
            except GoneError:
                log.warning("watch fell behind, listing again", since=since)

    def collect_all(self) -> None:
        """Look at every object once."""
        version = self.store.resource_version
        found = [
            (kind, stored)
            for kind in OWNER_KINDS.values()
            for stored in self.store.at(version, kind, namespace=None)
        ]
        for kind, stored in found:
            self._note_owners(kind, stored)
        for kind, stored in found:
            self._look_at((kind, stored.namespace, stored.name))
        nodes = {stored.name for kind, stored in found if kind == NODES}
        for kind, stored in found:
            if kind == PODS and _node_name(stored) not in {"", *nodes}:
                self._end_pod(stored)

    def _handle(self, event: Event) -> None:
        stored = event.stored
        if event.type is not EventType.DELETED:
            self._note_owners(event.kind, stored)
            self._look_at((event.kind, stored.namespace, stored.name))
            return
        for key in sorted(self._dependents.pop(_uid(stored.value), ()), key=str):
            self._look_at(key)
        for owner in _owners(stored.value):
            kind = OWNER_KINDS.get((owner.text("apiVersion"), owner.text("kind")))
            if kind is not None:
                self._look_at(
                    (kind, stored.namespace if kind.namespaced else "", owner.text("name"))
                )
        if event.kind == NODES:
            self._end_pods_of(stored.name)

    def _note_owners(self, kind: Kind, stored: Stored) -> None:
        for owner in _owners(stored.value):
            key = (kind, stored.namespace, stored.name)
            self._dependents.setdefault(owner.text("uid"), set()).add(key)

    def _look_at(self, key: Key) -> None:
        kind, namespace, name = key
        try:
            obj = self.store.get(kind, namespace, name)
        except NotFoundError:
            return
        metadata = inside(obj, "metadata")
        if metadata.has("deletionTimestamp"):
            finalizers = metadata.texts("finalizers")
            if ORPHAN_FINALIZER in finalizers:
                self._orphan_dependents(obj)
                self._release(kind, obj, ORPHAN_FINALIZER)
            elif FOREGROUND_FINALIZER in finalizers and not self._delete_dependents(obj):
                self._release(kind, obj, FOREGROUND_FINALIZER)
            return
        owners = list(_owners(obj))
        present = [owner.raw for owner in owners if self._is_present(owner, namespace)]
        if owners and not present:
            log.info("collected", plural=kind.plural, namespace=namespace, name=name)
            self.store.delete(kind, namespace, name, uid=_uid(obj))
        elif len(present) < len(owners):
            metadata.raw["ownerReferences"] = [*present]
            self.store.update(kind, obj)

    def _is_present(self, owner: Fields, namespace: str) -> bool:
        kind = OWNER_KINDS.get((owner.text("apiVersion"), owner.text("kind")))
        if kind is None:
            return True
        try:
            found = self.store.stored(
                kind, namespace if kind.namespaced else "", owner.text("name")
            )
        except NotFoundError:
            return False
        return _uid(found.value) == owner.text("uid")

    def _present_dependents(self, owner: JsonObject) -> Iterator[tuple[Kind, JsonObject]]:
        uid = _uid(owner)
        for kind, namespace, name in sorted(self._dependents.get(uid, ()), key=str):
            try:
                dependent = self.store.get(kind, namespace, name)
            except NotFoundError:
                continue
            if any(reference.text("uid") == uid for reference in _owners(dependent)):
                yield kind, dependent

    def _orphan_dependents(self, owner: JsonObject) -> None:
        for kind, dependent in list(self._present_dependents(owner)):
            metadata = inside(dependent, "metadata")
            metadata.raw["ownerReferences"] = [
                reference.raw
                for reference in _owners(dependent)
                if reference.text("uid") != _uid(owner)
            ]
            self.store.update(kind, dependent)

    def _delete_dependents(self, owner: JsonObject) -> bool:
        """Delete what the owner waits for; tell whether some of it is still there."""
        for kind, dependent in list(self._present_dependents(owner)):
            metadata = inside(dependent, "metadata")
            if not metadata.has("deletionTimestamp"):
                self.store.delete(
                    kind, metadata.text("namespace"), metadata.text("name"), uid=_uid(dependent)
                )
        return any(True for _ in self._present_dependents(owner))

    def _release(self, kind: Kind, obj: JsonObject, finalizer: str) -> None:
        metadata = inside(obj, "metadata")
        metadata.raw["finalizers"] = [
            held for held in metadata.texts("finalizers") if held != finalizer
        ]
        self.store.update(kind, obj)

    def _end_pods_of(self, node_name: str) -> None:
        for stored in self.store.at(self.store.resource_version, PODS, namespace=None):
            if _node_name(stored) == node_name:
                self._end_pod(stored)

    def _end_pod(self, pod: Stored) -> None:
        # Its kubelet is gone with the node, so nobody else would ever complete the deletion.
        log.info("pod without a node collected", namespace=pod.namespace, name=pod.name)
        self.store.delete(PODS, pod.namespace, pod.name, grace_period_seconds=0)


def _node_name(pod: Stored) -> str:
    return inside(pod.value, "spec").text("nodeName")


def _uid(obj: JsonObject) -> str:
    return inside(obj, "metadata").text("uid")


def _owners(obj: JsonObject) -> Iterator[Fields]:
    return inside(obj, "metadata").children("ownerReferences")
