"""What runs beside the API server, together (node, token, scenario)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from dra_console.devcluster.controllers import run_controllers
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.scenario import create_missing, scenario
from dra_console.devcluster.tokens import Signer
from dra_console.kube.kinds import NODES, SERVICE_ACCOUNTS
from tests.builders.objects import a_node
from tests.integration.devcluster.drivers import Driver
from tests.integration.devcluster.nodes import (
    SmallCluster,
    eventually,
    metadata_of,
    status_of,
    uid_of,
)

SIGNER = Signer(b"k" * 32)


@pytest.fixture
async def running(cluster: SmallCluster) -> AsyncIterator[SmallCluster]:
    """The demo's objects, with all controllers at work."""
    create_missing(cluster.store, scenario("demo").objects)
    task = asyncio.create_task(
        run_controllers(
            cluster.store,
            signer=SIGNER,
            nodes_dir=cluster.nodes_directory,
            timings=Timings(registry_poll_seconds=0.02, token_seconds=2),
        )
    )
    yield cluster
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def conditions(node: dict[str, object]) -> dict[str, str]:
    entries = node["conditions"]
    assert isinstance(entries, list)
    return {entry["type"]: entry["status"] for entry in entries}


async def test_every_node_becomes_ready(running: SmallCluster) -> None:
    def ready() -> set[str]:
        nodes, _ = running.store.list(NODES)
        return {
            str(metadata_of(node)["name"])
            for node in nodes
            if "conditions" in status_of(node)
            and conditions({**status_of(node)}).get("Ready") == "True"
        }

    await eventually(lambda: ready() == {"gpu-01", "gpu-02", "gpu-03", "mig-01", "l4-01", "l4-02"})


async def test_a_node_that_is_added_gets_a_kubelet(running: SmallCluster) -> None:
    running.add(NODES, a_node("gpu-09"))
    driver = Driver(running.nodes_directory / "gpu-09")
    await driver.start()
    try:
        await eventually(lambda: driver.registered == [True])
    finally:
        await driver.stop()


async def test_a_node_that_is_deleted_loses_its_kubelet(running: SmallCluster) -> None:
    registry = running.nodes_directory / "l4-02" / "plugins_registry"
    await eventually(registry.is_dir)
    running.store.delete(NODES, "", "l4-02")
    # A later node's kubelet is there only after the deletion was seen.
    running.add(NODES, a_node("gpu-09"))
    await eventually((running.nodes_directory / "gpu-09" / "plugins_registry").is_dir)
    driver = Driver(running.nodes_directory / "l4-02")
    other = Driver(running.nodes_directory / "gpu-09")
    await driver.start()
    await other.start()
    try:
        await eventually(lambda: other.registered == [True])
    finally:
        await driver.stop()
        await other.stop()

    assert driver.registered == []


async def test_the_agents_token_is_bound_to_its_node(running: SmallCluster) -> None:
    path = running.nodes_directory / "gpu-02" / "agent-token"
    await eventually(path.exists)

    token = SIGNER.read(path.read_text(), now_seconds=time.time())

    assert token.username == "system:serviceaccount:dra-console:dra-nodeagent"
    assert token.audiences == ("dra-console",)
    assert token.node is not None
    assert token.node.name == "gpu-02"
    assert token.node.uid == uid_of(running.store.get(NODES, "", "gpu-02"))
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_agents_token_is_renewed(running: SmallCluster) -> None:
    path = running.nodes_directory / "gpu-02" / "agent-token"
    await eventually(path.exists)
    first = path.read_text()

    await eventually(lambda: path.read_text() != first)

    assert SIGNER.read(path.read_text(), now_seconds=time.time()).node is not None


async def test_a_token_waits_for_its_account(cluster: SmallCluster) -> None:
    await cluster.start()
    path = cluster.node_directory / "agent-token"
    await eventually((cluster.node_directory / "cdi").is_dir)

    assert not cluster.store.list(SERVICE_ACCOUNTS)[0]
    assert not path.exists()
