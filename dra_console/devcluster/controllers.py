"""What runs beside the API server: the controllers, and a kubelet for each node."""

import asyncio
from pathlib import Path

import structlog

from dra_console.devcluster.errors import GoneError
from dra_console.devcluster.event_expiry import EventExpiry
from dra_console.devcluster.garbage import GarbageCollector
from dra_console.devcluster.kubelet import Kubelet
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.namespaces import NamespaceController
from dra_console.devcluster.resourceclaim_controller import ResourceClaimController
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer
from dra_console.kube.kinds import NODES

log = structlog.get_logger()


async def run_controllers(
    store: Store, *, signer: Signer, nodes_dir: Path, timings: Timings | None = None
) -> None:
    """Run all of them until cancelled.

    `nodes_dir` holds a folder for each node, by its name: what `/var/lib/kubelet` is on a
    real one.
    """
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ResourceClaimController(store).run())
        tasks.create_task(GarbageCollector(store).run())
        tasks.create_task(NamespaceController(store).run())
        tasks.create_task(EventExpiry(store).run())
        tasks.create_task(
            _run_kubelets(store, signer=signer, nodes_dir=nodes_dir, timings=timings or Timings())
        )


async def _run_kubelets(store: Store, *, signer: Signer, nodes_dir: Path, timings: Timings) -> None:
    """Start a kubelet for each node that appears, and stop it when its node is deleted."""
    running: dict[str, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            since = store.resource_version
            present = {node.name for node in store.at(since, NODES, namespace=None)}
            for name in running.keys() - present:
                log.info("node gone", node=name)
                running.pop(name).cancel()
            for name in sorted(present - running.keys()):
                kubelet = Kubelet(
                    store=store,
                    signer=signer,
                    node_name=name,
                    directory=nodes_dir / name,
                    timings=timings,
                )
                running[name] = tasks.create_task(kubelet.run())
            try:
                await store.watch(NODES, since=since).next()
            except GoneError:
                continue
