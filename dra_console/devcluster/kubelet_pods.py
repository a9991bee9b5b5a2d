"""The pods of one node: one worker for each, for as long as the node has anything of it.

Workers go by uid, so a pod that is created anew under an old name waits for nobody's end.
Pods that were removed without the kubelet, and pods that only the checkpoint still knows,
get a worker too: their claims have to be taken back.
"""

import asyncio
from dataclasses import dataclass, field
from typing import NoReturn

import structlog

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import GoneError, NotFoundError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.kubelet_pod import NodeRuntime, PodWorker
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import PODS

log = structlog.get_logger()


@dataclass(slots=True)
class NodePods:
    """Follows the pods that are bound to a node."""

    store: Store
    node_name: str
    runtime: NodeRuntime
    _workers: dict[str, PodWorker] = field(default_factory=dict)

    async def run(self) -> NoReturn:
        """Look after the node's pods, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                since = self.store.resource_version
                self._list(tasks)
                try:
                    async for event in self.store.watch(PODS, since=since):
                        uid = inside(event.stored.value, "metadata").text("uid")
                        if self._is_here(event.stored.value) or uid in self._workers:
                            self._observe(uid, self._present(event.stored.value), tasks=tasks)
                except GoneError:
                    log.warning("watch fell behind, listing again", node=self.node_name)

    def wake_all(self) -> None:
        """Have every pod try again now."""
        for worker in self._workers.values():
            worker.wake()

    def _list(self, tasks: asyncio.TaskGroup) -> None:
        missing = self.runtime.claims.pod_uids | self._workers.keys()
        for stored in self.store.at(self.store.resource_version, PODS, namespace=None):
            if self._is_here(stored.value):
                uid = inside(stored.value, "metadata").text("uid")
                missing -= {uid}
                self._observe(uid, stored.copy(), tasks=tasks)
        for uid in missing:
            self._observe(uid, None, tasks=tasks)

    def _is_here(self, stored: JsonObject) -> bool:
        return inside(stored, "spec").text("nodeName") == self.node_name

    def _present(self, stored: JsonObject) -> JsonObject | None:
        """Return the pod of an event as it is by now; another pod of its name is not it."""
        metadata = inside(stored, "metadata")
        try:
            now = self.store.get(PODS, metadata.text("namespace"), metadata.text("name"))
        except NotFoundError:
            return None
        return now if inside(now, "metadata").text("uid") == metadata.text("uid") else None

    def _observe(self, uid: str, stored: JsonObject | None, *, tasks: asyncio.TaskGroup) -> None:
        worker = self._workers.get(uid)
        is_new = worker is None
        if worker is None:
            if stored is None and uid not in self.runtime.claims.pod_uids:
                return
            worker = PodWorker(self.runtime, uid)
        try:
            worker.observe(stored)
        except DecodeError as error:
            log.warning("pod is malformed", node=self.node_name, uid=uid, error=str(error))
            return
        if is_new:
            self._workers[uid] = worker
            tasks.create_task(self._work(worker))

    async def _work(self, worker: PodWorker) -> None:
        await worker.run()
        del self._workers[worker.uid]
