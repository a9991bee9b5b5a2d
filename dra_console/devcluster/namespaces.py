"""What follows a namespace: its default service account, and its end.

A namespace that is being deleted keeps the finalizer in its spec until nothing is left in
it; then it goes. Pods on nodes make this wait for their kubelets.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

import structlog

from dra_console.devcluster.errors import GoneError, NotFoundError
from dra_console.devcluster.eventlog import EventType
from dra_console.devcluster.fields import inside
from dra_console.devcluster.resources import RESOURCES
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NAMESPACES, SERVICE_ACCOUNTS

log = structlog.get_logger()

DEFAULT_ACCOUNT: Final = "default"
NAMESPACED_KINDS: Final = tuple(
    resource.kind for resource in RESOURCES if resource.is_stored and resource.kind.namespaced
)


@dataclass(frozen=True, slots=True)
class NamespaceController:
    """Runs for the life of the process; one for a store."""

    store: Store

    async def run(self) -> None:
        """Look at every namespace once and then at what changes, until cancelled."""
        while True:
            since = self.store.resource_version
            self.sync_all()
            try:
                async for event in self.store.watch(None, since=since):
                    if event.kind == NAMESPACES and event.type is not EventType.DELETED:
                        self._sync(event.stored.name)
                    elif event.type is EventType.DELETED and event.kind.namespaced:
                        self._sync(event.stored.namespace)
                    await asyncio.sleep(0)
            except GoneError:
                log.warning("watch fell behind, listing again", since=since)

    def sync_all(self) -> None:
        """Look at every namespace once."""
        for stored in self.store.at(self.store.resource_version, NAMESPACES, namespace=None):
            self._sync(stored.name)

    def _sync(self, name: str) -> None:
        try:
            namespace = self.store.get(NAMESPACES, "", name)
        except NotFoundError:
            return
        if not inside(namespace, "metadata").has("deletionTimestamp"):
            self._create_account(name)
        elif not self._empty(name):
            inside(namespace, "spec").raw["finalizers"] = []
            self.store.update(NAMESPACES, namespace, subresource="finalize")

    def _create_account(self, namespace: str) -> None:
        try:
            self.store.stored(SERVICE_ACCOUNTS, namespace, DEFAULT_ACCOUNT)
        except NotFoundError:
            self.store.create(
                SERVICE_ACCOUNTS, {"metadata": {"namespace": namespace, "name": DEFAULT_ACCOUNT}}
            )

    def _empty(self, namespace: str) -> bool:
        """Delete what is in a namespace; tell whether some of it is still there."""
        is_left = False
        for kind in NAMESPACED_KINDS:
            for stored in self.store.at(self.store.resource_version, kind, namespace=namespace):
                if not inside(stored.value, "metadata").has("deletionTimestamp"):
                    self.store.delete(kind, namespace, stored.name)
            is_left = is_left or bool(
                self.store.at(self.store.resource_version, kind, namespace=namespace)
            )
        return is_left
