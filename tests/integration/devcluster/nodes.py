"""A store with one simulated node, in this process, and what schedulers and users do to it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.claims import FINALIZER
from dra_console.devcluster.errors import NotFoundError
from dra_console.devcluster.kubelet import Kubelet
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.resourceclaim_controller import ResourceClaimController
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer
from dra_console.devcluster.workqueue import BackOff
from dra_console.kube.kinds import (
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from tests.builders.objects import (
    NAMESPACE,
    NODE,
    a_claim,
    a_namespace,
    a_node,
    a_pod,
    an_allocation,
)

FAST = Timings(
    registry_poll_seconds=0.02,
    call_seconds=10,
    slice_wipe_seconds=0.5,
    registration_back_off=BackOff(first_seconds=0.05, most_seconds=0.2),
    pod_back_off=BackOff(first_seconds=0.05, most_seconds=0.2),
)
"""Kubernetes' waits cut down to what a test can bear."""

PATIENCE_SECONDS = 30


async def eventually(holds: Callable[[], object], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until something holds; fail with what it says otherwise."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold in time"
        await asyncio.sleep(0.01)


@dataclass
class SmallCluster:
    """One node with a kubelet and a resourceclaim controller that can be restarted."""

    store: Store
    nodes_directory: Path
    timings: Timings = FAST
    node_name: str = NODE
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def node_directory(self) -> Path:
        return self.nodes_directory / self.node_name

    @property
    def kubelet(self) -> Kubelet:
        signer = Signer(b"k" * 32)
        return Kubelet(self.store, signer, self.node_name, self.node_directory, self.timings)

    async def start(self) -> None:
        controller = ResourceClaimController(self.store, back_off=BackOff(0.05, 0.2))
        self._tasks = [
            asyncio.create_task(controller.run()),
            asyncio.create_task(self.kubelet.run()),
        ]
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """End kubelet and controller, which write nothing on their way out."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    def add(self, kind: Kind, built: JsonObject) -> str:
        """Create an object of the builders and return its uid."""
        return uid_of(self.store.create(kind, without_version(built)))

    def add_claim(self, name: str) -> str:
        return self.add(RESOURCE_CLAIMS, a_claim(name))

    def allocate(self, name: str, *, node: str | None = None, pods: tuple[str, ...] = ()) -> None:
        """Allocate a claim as a scheduler does: finalizer first, then the status."""
        claim = self.store.get(RESOURCE_CLAIMS, NAMESPACE, name)
        metadata_of(claim)["finalizers"] = [FINALIZER]
        claim = self.store.update(RESOURCE_CLAIMS, claim)
        reserved: list[Json] = [
            {"resource": "pods", "name": pod, "uid": uid_of(self.pod(pod))} for pod in pods
        ]
        status: JsonObject = {"allocation": an_allocation(node=node or self.node_name)}
        claim["status"] = {**status, "reservedFor": reserved} if reserved else status
        self.store.update(RESOURCE_CLAIMS, claim, subresource="status")

    def add_allocated_claim(self, name: str) -> str:
        uid = self.add_claim(name)
        self.allocate(name)
        return uid

    def add_pod(
        self,
        name: str,
        *,
        claim: str | None = None,
        template: str | None = None,
        command: tuple[str, ...] = (),
        bound: bool = True,
        **spec: Json,
    ) -> str:
        """Create a pod on the node and return its uid."""
        pod = a_pod(name, claim=claim, template=template, node=self.node_name if bound else None)
        assert isinstance(pod["spec"], dict)
        pod["spec"] |= spec
        containers = pod["spec"]["containers"]
        assert isinstance(containers, list)
        assert isinstance(containers[0], dict)
        if command:
            containers[0]["args"] = [*command]
        return self.add(PODS, pod)

    def pod(self, name: str) -> JsonObject:
        return self.store.get(PODS, NAMESPACE, name)

    def claim(self, name: str) -> JsonObject:
        return self.store.get(RESOURCE_CLAIMS, NAMESPACE, name)

    def has_pod(self, name: str) -> bool:
        with suppress(NotFoundError):
            return bool(self.pod(name))
        return False

    def has_claim(self, name: str) -> bool:
        with suppress(NotFoundError):
            return bool(self.claim(name))
        return False

    def phase(self, name: str) -> Json:
        return status_of(self.pod(name))["phase"]

    def waiting_reason(self, name: str) -> Json:
        """Return why the first container waits; `None` = it does not."""
        statuses = status_of(self.pod(name)).get("containerStatuses")
        match statuses:
            case [{"state": {"waiting": {"reason": reason}}}, *_]:
                return reason
        return None

    def events(self, reason: str) -> list[JsonObject]:
        return [event for event in self.store.list(EVENTS)[0] if event["reason"] == reason]

    def messages(self, reason: str) -> str:
        """Return what events of a reason say, a line each."""
        return "\n".join(str(event["message"]) for event in self.events(reason))

    def slice_names(self) -> set[str]:
        return {str(metadata_of(each)["name"]) for each in self.store.list(RESOURCE_SLICES)[0]}

    def consumers(self, claim: str) -> list[str]:
        status = status_of(self.claim(claim))
        entries = status.get("reservedFor", [])
        assert isinstance(entries, list)
        return [str(entry["name"]) for entry in entries if isinstance(entry, dict)]


def metadata_of(stored: JsonObject) -> JsonObject:
    metadata = stored["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def status_of(stored: JsonObject) -> JsonObject:
    status = stored["status"]
    assert isinstance(status, dict)
    return status


def uid_of(stored: JsonObject) -> str:
    uid = metadata_of(stored)["uid"]
    assert isinstance(uid, str)
    return uid


@contextmanager
def small_store(directory: Path) -> Iterator[Store]:
    """Open a store that has the namespace and the node of the builders."""
    store = Store(directory / "cluster.db")
    try:
        for kind, stored in ((NAMESPACES, a_namespace()), (NODES, a_node())):
            store.create(kind, without_version(stored))
        yield store
    finally:
        store.close()


def without_version(stored: JsonObject) -> JsonObject:
    """Take out of a built object what only a stored one has."""
    metadata = metadata_of(stored)
    kept = {key: value for key, value in metadata.items() if key != "resourceVersion"}
    return {**stored, "metadata": kept}
