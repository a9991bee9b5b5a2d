"""The resourceclaim controller: makes claims from templates, and frees them after use.

What it decides is in `resourceclaim_rules`, what it writes in `resourceclaim_pods` and
`resourceclaim_cleanup`; here is when. One task takes one key at a time. What a crash
interrupts is done by the pass over all objects at the next start.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import structlog

from dra_console.allocator.errors import AllocatorError, DecodeError
from dra_console.devcluster.claims import CONSUMERS_LIMIT, LifeCycleClaim
from dra_console.devcluster.errors import GoneError, NotFoundError, StatusError
from dra_console.devcluster.eventlog import Event
from dra_console.devcluster.fields import inside
from dra_console.devcluster.pod_events import PodEvents
from dra_console.devcluster.pods import Pod
from dra_console.devcluster.resourceclaim_cleanup import ClaimCleanUp
from dra_console.devcluster.resourceclaim_pods import CreationError, PodClaims
from dra_console.devcluster.resourceclaim_rules import UnknownConsumerError
from dra_console.devcluster.store import Store
from dra_console.devcluster.workqueue import BackOff, WorkQueue
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind

log = structlog.get_logger()

COMPONENT: Final = "resourceclaim-controller"
BACK_OFF: Final = BackOff(first_seconds=0.5, most_seconds=60)


@dataclass(frozen=True, slots=True)
class Key:
    """A pod or a claim that is to be looked at."""

    kind: Kind
    namespace: str
    name: str


@dataclass(slots=True)
class ResourceClaimController:
    """Runs for the life of the process; one for a store."""

    store: Store
    back_off: BackOff = BACK_OFF
    _queue: WorkQueue[Key] = field(init=False)
    _pod_claims: PodClaims = field(init=False)
    _clean_up: ClaimCleanUp = field(init=False)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(back_off=self.back_off, clock=time.monotonic)
        self._pod_claims = PodClaims(self.store, PodEvents(self.store, component=COMPONENT))
        self._clean_up = ClaimCleanUp(self.store)

    async def run(self) -> None:
        """Look at everything once and then at what changes, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            tasks.create_task(self._work())

    def sync_all(self) -> None:
        """Look at every pod and then at every claim, once and without waiting."""
        for key in self._all_keys():
            self._sync(key)

    async def _follow(self) -> None:
        while True:
            since = self.store.resource_version
            for key in self._all_keys():
                self._queue.add(key)
            try:
                async for event in self.store.watch(None, since=since):
                    for key in self._touched(event):
                        self._queue.add(key)
            except GoneError:
                log.warning("watch fell behind, listing again", since=since)

    async def _work(self) -> None:
        while True:
            self._sync(await self._queue.next())
            # Other tasks get their turn between two keys, however long the queue is.
            await asyncio.sleep(0)

    def _all_keys(self) -> Iterator[Key]:
        for kind in (PODS, RESOURCE_CLAIMS):
            for stored in self.store.at(self.store.resource_version, kind, namespace=None):
                yield Key(kind, stored.namespace, stored.name)

    def _touched(self, event: Event) -> Iterator[Key]:
        """Name what an event gives reason to look at."""
        if event.kind not in {PODS, RESOURCE_CLAIMS}:
            return
        namespace, name = event.stored.namespace, event.stored.name
        yield Key(event.kind, namespace, name)
        try:
            if event.kind == PODS:
                for claim_name in Pod.read(event.stored.value).all_claim_names:
                    yield Key(RESOURCE_CLAIMS, namespace, claim_name)
                return
            claim = LifeCycleClaim.read(event.stored.value)
            if claim.owner is not None and claim.owner.is_pod:
                yield Key(PODS, namespace, claim.owner.name)
            if _has_become_reservable(claim, event=event):
                yield from self._pods_naming(name, namespace=namespace)
        except DecodeError as error:
            log.warning(
                "object is malformed", plural=event.kind.plural, name=name, error=str(error)
            )

    def _pods_naming(self, claim_name: str, *, namespace: str) -> Iterator[Key]:
        for stored in self.store.at(self.store.resource_version, PODS, namespace=namespace):
            entries = inside(stored.value, "spec").children("resourceClaims")
            if any(entry.optional_text("resourceClaimName") == claim_name for entry in entries):
                yield Key(PODS, namespace, stored.name)

    def _sync(self, key: Key) -> None:
        try:
            stored = self.store.get(key.kind, key.namespace, key.name)
            if key.kind == PODS:
                self._pod_claims.sync(Pod.read(stored))
            else:
                self._clean_up.sync(stored)
        except NotFoundError:
            self._queue.succeed(key)
        except (AllocatorError, CreationError, StatusError, UnknownConsumerError) as error:
            seconds = self._queue.fail(key)
            log.warning(
                "sync failed",
                plural=key.kind.plural,
                object=f"{key.namespace}/{key.name}",
                error=str(error),
                retry_seconds=seconds,
            )
        else:
            self._queue.succeed(key)


def _has_become_reservable(claim: LifeCycleClaim, *, event: Event) -> bool:
    """Tell whether pods that wait for the claim on their node may get in now."""
    held = len(claim.claim.reserved_for)
    if claim.claim.allocation is None or held >= CONSUMERS_LIMIT or event.previous is None:
        return False
    before = LifeCycleClaim.read(event.previous.value).claim
    return before.allocation is None or len(before.reserved_for) >= CONSUMERS_LIMIT
