"""The node agent's publisher at work on a real API server, in this process."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nodeagent.fields import JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.errors import InvalidError
from nodeagent.kube.resources import Resources
from nodeagent.kube.server_version import ServerVersion
from nodeagent.publish.publisher import Publisher
from tests.cluster.rig import Cluster
from tests.cluster.workloads import DRIVER, RESOURCES, eventually

NODE = "gpu-01"
SLICES = f"{RESOURCES}/resourceslices"
SETTLED_SECONDS = 1.0


class Recorded(Resources):
    """The agent's way to the API server, with what was sent and refused on it."""

    def __init__(self, client: Client, *, driver: str, node_name: str) -> None:
        super().__init__(client, driver=driver, node_name=node_name)
        self.sent: list[tuple[float, str, int]] = []
        """When, which slice (or the beginning of its name), which generation."""

        self.refused: list[str] = []
        self.pretended_version: str | None = None

    def server_version(self) -> ServerVersion:
        if self.pretended_version is not None:
            return ServerVersion.of({"gitVersion": self.pretended_version})
        return super().server_version()

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        return self._record(super().create_slice, slice_object)

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        return self._record(super().replace_slice, slice_object)

    def _record(
        self, send: Callable[[JsonObject], JsonObject], slice_object: JsonObject
    ) -> JsonObject:
        body: Any = slice_object
        name = body["metadata"].get("name") or body["metadata"]["generateName"]
        self.sent.append((time.monotonic(), name, body["spec"]["pool"]["generation"]))
        try:
            return send(slice_object)
        except InvalidError as error:
            self.refused.append(str(error))
            raise


@dataclass
class Running:
    """A publisher at work."""

    resources: Recorded
    publisher: Publisher
    threads: list[threading.Thread] = field(default_factory=list)


@contextlib.contextmanager
def publishing(
    cluster: Cluster, *, shares: int = 1, pretended_version: str | None = None
) -> Iterator[Running]:
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    resources = Recorded(client, driver=DRIVER, node_name=NODE)
    resources.pretended_version = pretended_version
    publisher = Publisher(
        resources,
        driver=DRIVER,
        node_name=NODE,
        pool=NODE,
        shares=shares,
    )
    running = Running(resources, publisher)
    for work in (publisher.follow, publisher.write):
        running.threads.append(threading.Thread(target=work, daemon=True))
        running.threads[-1].start()
    try:
        yield running
    finally:
        publisher.stop()
        running.threads[1].join(30)
        wipe(cluster)


def wipe(cluster: Cluster) -> None:
    """Delete what kubelet deletes when it starts."""
    served = cluster.apiserver.options.resource_versions[0]
    path = SLICES.replace("/v1/", f"/{served}/")
    cluster.api.delete(f"{path}?fieldSelector=spec.nodeName={NODE}")


def stored(cluster: Cluster) -> list[dict[str, Any]]:
    """The specs of the node's slices in the order of their names, as v1 has them."""
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    items: list[Any] = list(Resources(client, driver=DRIVER, node_name=NODE).slices().items)
    return [item["spec"] for item in sorted(items, key=lambda item: item["metadata"]["name"])]


def devices_of(specs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {device["name"]: device for spec in specs for device in spec.get("devices", [])}


def is_whole(specs: list[dict[str, Any]]) -> bool:
    pools = [spec["pool"] for spec in specs]
    newest = max((pool["generation"] for pool in pools), default=0)
    complete = [pool for pool in pools if pool["generation"] == newest]
    return bool(complete) and complete[0]["resourceSliceCount"] == len(complete) == len(pools)


def settled(cluster: Cluster, holds: Callable[[list[dict[str, Any]]], bool]) -> Any:
    """Wait until the pool is whole and as said, and stays so."""

    def as_said() -> list[dict[str, Any]] | None:
        specs = stored(cluster)
        return specs if is_whole(specs) and holds(specs) else None

    def settled_now() -> list[dict[str, Any]] | None:
        before = as_said()
        if before is None:
            return None
        time.sleep(SETTLED_SECONDS)
        return before if stored(cluster) == before else None

    return eventually(settled_now)
