"""The simulated kubelet of one node: real sockets, real gRPC, real files, no containers.

A DRA driver cannot tell it from a real one by what happens on its sockets. The folder of the
node stands for `/var/lib/kubelet`; its `cdi` folder stands for `/var/run/cdi`.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dra_console.devcluster.cdi_directory import CdiDirectory
from dra_console.devcluster.kubelet_checkpoint import Checkpoint
from dra_console.devcluster.kubelet_claims import NodeClaims
from dra_console.devcluster.kubelet_node import NodeStatus
from dra_console.devcluster.kubelet_pod import NodeRuntime
from dra_console.devcluster.kubelet_pod_writes import PodWrites
from dra_console.devcluster.kubelet_pods import NodePods
from dra_console.devcluster.kubelet_registration import PluginRegistry
from dra_console.devcluster.kubelet_slices import SliceWipe
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.kubelet_token import AgentToken
from dra_console.devcluster.metadata import now
from dra_console.devcluster.pod_events import PodEvents
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer

REGISTRY_FOLDER: Final = "plugins_registry"
CDI_FOLDER: Final = "cdi"
CHECKPOINT_FILE: Final = "dra_manager_state"
TOKEN_FILE: Final = "agent-token"  # noqa: S105  a file's name


@dataclass(frozen=True, slots=True)
class Kubelet:
    """One node. `directory` is the node's folder and is created if need be."""

    store: Store
    signer: Signer
    node_name: str
    directory: Path
    timings: Timings

    async def run(self) -> None:
        """Be the kubelet of the node, until cancelled."""
        directory = self.directory.absolute()
        for folder in (REGISTRY_FOLDER, "plugins", CDI_FOLDER):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        wipe = SliceWipe(self.store, self.node_name, self.timings.slice_wipe_seconds)
        wipe.wipe_all()

        def changed(driver: str) -> None:
            if registry.is_connected(driver):
                wipe.found(driver)
            else:
                wipe.lost(driver)
            pods.wake_all()

        registry = PluginRegistry(directory / REGISTRY_FOLDER, self.timings, changed)
        pods = self._pods(registry, directory)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(registry.run())
                tasks.create_task(pods.run())
                tasks.create_task(self._beat())
                tasks.create_task(self._renew_token(directory / TOKEN_FILE))
        finally:
            wipe.stop()

    def _pods(self, registry: PluginRegistry, directory: Path) -> NodePods:
        claims = NodeClaims(
            self.store,
            self.node_name,
            registry,
            Checkpoint(directory / CHECKPOINT_FILE),
            self.timings.call_seconds,
        )
        runtime = NodeRuntime(
            claims=claims,
            cdi=CdiDirectory(directory / CDI_FOLDER),
            writes=PodWrites(self.store, claims),
            events=PodEvents(self.store, component="kubelet", host=self.node_name),
            timings=self.timings,
            now=now,
        )
        return NodePods(self.store, self.node_name, runtime)

    async def _beat(self) -> None:
        status = NodeStatus(self.store, self.node_name)
        while True:
            status.beat(now=now())
            await asyncio.sleep(self.timings.heartbeat_seconds)

    async def _renew_token(self, path: Path) -> None:
        token = AgentToken(
            self.store, self.signer, self.node_name, path, self.timings.token_seconds
        )
        while True:
            due_seconds = token.renew()
            await asyncio.sleep(due_seconds)
