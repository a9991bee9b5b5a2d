"""Live state beside another vendor's driver: a real agent that only watches, and the console."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from channels.db import database_sync_to_async as in_database

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.telemetry import store
from dra_console.telemetry.readings import DeviceKey
from nodeagent.devices.profiles import gpus
from tests.builders.frames import a_device_sample, a_hello, a_sample, as_text
from tests.builders.mirrored import mirror
from tests.builders.objects import a_device, a_node, a_slice
from tests.integration.live.conftest import AGENT_TOKEN, Console, until

OTHER = "gpu.other.example"
NODE = "gpu-01"
UUIDS = [gpu.uuid for gpu in gpus("l4x4", node_name=NODE)]


def slices_of_the_other_driver(*uuids: str, pool: str = "pool-a") -> JsonObject:
    """Build devices whose names say another order than the hardware's."""
    names = [f"gpu-{number}" for number in range(len(uuids))]
    return a_slice(
        node=NODE,
        pool=pool,
        driver=OTHER,
        devices=[
            a_device(name, attributes={"uuid": uuid})
            for name, uuid in zip(names, uuids, strict=True)
        ],
    )


async def test_readings_are_of_the_devices_that_have_their_uuids_whatever_they_are_called(
    console: Console, cluster: Cluster
) -> None:
    await in_database(mirror)(cluster, a_node(NODE), slices_of_the_other_driver("U-1", "U-0"))
    samples = [
        {**a_device_sample("gpu-0", utilisation_percent=10), "uuid": "U-0"},
        {**a_device_sample("gpu-1", utilisation_percent=20), "uuid": "U-1"},
        {**a_device_sample("gpu-2", utilisation_percent=30), "uuid": "U-2"},
    ]
    async with console.agent() as agent:
        await agent.send(as_text(a_hello(driver=OTHER, naming="uuid")))
        await agent.recv()
        await agent.send(as_text(a_sample(1, *samples)))
        latest = await until(lambda: store.latest(cluster.pk))

    assert {key: reading.utilisation_percent for key, reading in latest.items()} == {
        DeviceKey(OTHER, "pool-a", "gpu-0"): 20,
        DeviceKey(OTHER, "pool-a", "gpu-1"): 10,
    }
    history = store.history(cluster.pk, DeviceKey(OTHER, "pool-a", "gpu-1"))
    assert [percent for _, percent in history] == [10]
    assert store.agents(cluster.pk)[NODE].pool == "pool-a"


async def test_where_nothing_is_published_with_a_uuid_nothing_is_said_of_any_device(
    console: Console, cluster: Cluster
) -> None:
    published = a_slice(node=NODE, pool="pool-a", driver=OTHER, devices=[a_device("gpu-0")])
    await in_database(mirror)(cluster, a_node(NODE), published)
    async with console.agent() as agent:
        await agent.send(as_text(a_hello(driver=OTHER, naming="uuid")))
        await agent.recv()
        await agent.send(as_text(a_sample(1, a_device_sample("gpu-0", utilisation_percent=10))))
        await until(lambda: store.agents(cluster.pk).get(NODE))
        await agent.send(as_text(a_sample(2, a_device_sample("gpu-0", utilisation_percent=10))))

    assert store.latest(cluster.pk) == {}


async def test_what_an_agent_that_only_watches_finds_wrong_is_told_of_lost_gpus_too(
    console: Console, cluster: Cluster, tmp_path: Path
) -> None:
    await in_database(mirror)(cluster, a_node(NODE), slices_of_the_other_driver(*UUIDS[::-1]))
    root = tmp_path / "kubelet"
    faults = root / f"plugins/{OTHER}/simulated-faults.json"
    faults.parent.mkdir(parents=True)
    wrong = {"lost": ["gpu-0"], "xids": [{"gpu": "gpu-1", "xid": 79}], "recovery": {"gpu-2": 1}}
    faults.write_text(json.dumps(wrong))

    async with observing(console, tmp_path, root):
        await until(lambda: len(health_of(cluster)) == 4)
        health = health_of(cluster)

    assert {device: words.partition(" at ")[0] for device, words in health.items()} == {
        "gpu-3": "unhealthy: the GPU has fallen off the bus",
        "gpu-2": "unhealthy: Xid 79 (fallen off the bus)",
        "gpu-1": "unhealthy: the driver recommends: gpu reset",
        "gpu-0": "healthy",
    }
    assert [path.name for path in faults.parent.iterdir()] == [faults.name]


def health_of(cluster: Cluster) -> dict[str, str]:
    return {
        key.device: reading.health
        for key, reading in store.latest(cluster.pk).items()
        if reading.health is not None and not reading.health.startswith("unknown")
    }


@asynccontextmanager
async def observing(
    console: Console, directory: Path, root: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an agent that only watches; it has to end well when it is asked to."""
    token, log = directory / "token", directory / "log"
    token.write_text(AGENT_TOKEN)
    command = [
        *(sys.executable, "-m", "nodeagent", "--telemetry-only"),
        *("--node-name", NODE, "--driver", OTHER, "--simulate", "--profile", "l4x4"),
        *("--kubelet-root", str(root), "--cdi-dir", str(root / "cdi")),
        *("--console-url", f"ws://127.0.0.1:{console.port}/ws/v1/agents"),
        *("--console-token-file", str(token)),
    ]
    # No kubeconfig, no service account: it asks the API server for nothing.
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            *command, stderr=written, env={"PATH": os.environ["PATH"]}
        )
    try:
        yield process
        process.terminate()
        status = await asyncio.wait_for(process.wait(), 20)
    finally:
        if process.returncode is None:
            process.kill()
    assert status == 0, log.read_text()


async def test_an_agent_that_only_watches_shows_another_drivers_devices_and_touches_nothing(
    console: Console, cluster: Cluster, tmp_path: Path
) -> None:
    await in_database(mirror)(cluster, a_node(NODE), slices_of_the_other_driver(*UUIDS[::-1]))
    root = tmp_path / "kubelet"
    (root / "plugins_registry").mkdir(parents=True)
    async with observing(console, tmp_path, root):
        latest = await until(lambda: store.latest(cluster.pk))

    assert set(latest) == {DeviceKey(OTHER, "pool-a", f"gpu-{number}") for number in range(4)}
    assert all(reading.power_milliwatts for reading in latest.values())
    assert [path.name for path in root.rglob("*")] == ["plugins_registry"]
    assert json.loads((tmp_path / "log").read_text().splitlines()[-1])["level"] == "info"
