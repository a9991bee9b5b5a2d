"""Workers that allocate are killed and frozen at random; no device is ever given twice.

Slow, since real workers start and leases run out: about a minute.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    PODS,
    RESOURCE_CLAIMS,
)
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from tests.builders.objects import (
    a_claim,
    a_pod,
)
from tests.integration.devclusters import Devcluster, api_server
from tests.integration.scheduling.fleet import create, make_fleet
from tests.integration.sync.console import Console
from tests.migrated import put_sqlite

__all__ = ["api_server"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

NODE_NAMES = ("gpu-01", "gpu-02", "gpu-03")
DEVICES_PER_NODE = 8
CLAIMS = len(NODE_NAMES) * DEVICES_PER_NODE
ROUNDS = 3
PATIENCE_SECONDS = 150
FROZEN_SECONDS = 20.0
"""Longer than the lease, so that the other worker has had its turn."""


@pytest.fixture
def console(api_server: Devcluster, redis_url: str, tmp_path: Path) -> Iterator[Console]:
    console = Console(tmp_path, redis_url, is_preloaded=True)
    put_sqlite(console.sqlite_file)
    added = console.manage("cluster", "add", "lab", "--kubeconfig", str(api_server.kubeconfig))
    assert added.returncode == 0, added.stderr
    yield console
    console.kill_all()


@pytest.fixture
def api(api_server: Devcluster) -> Client:
    client = Client.from_kubeconfig(str(api_server.kubeconfig))
    make_fleet(client, *NODE_NAMES, devices_per_node=DEVICES_PER_NODE)
    return client


def ask_for_a_device(api: Client, number: int) -> None:
    """Create a claim that is to be reserved ahead, or one with a pod."""
    name = f"it-{number}"
    claim: Any = a_claim(name)
    is_ahead = number % 2 == 0
    claim["metadata"]["labels"] = {RESERVE_AHEAD_LABEL: "true"} if is_ahead else {}
    create(api, claim)
    if not is_ahead:
        create(api, a_pod(name, claim=name))


def held_devices(api: Client) -> Counter[tuple[str, str]]:
    """Count the claims that hold each device."""
    found: Counter[tuple[str, str]] = Counter()
    for claim in api.list(RESOURCE_CLAIMS).items:
        one: Any = claim
        allocation = one.get("status", {}).get("allocation") or {"devices": {"results": []}}
        found.update((each["pool"], each["device"]) for each in allocation["devices"]["results"])
    return found


def watch_over(api: Client, *, seconds: float, wanted: int = CLAIMS + 1) -> int:
    """Look at what is held for so long, or until so many devices are; count them at the end."""
    deadline = time.monotonic() + seconds
    while True:
        held = held_devices(api)
        assert not [device for device, claims in held.items() if claims > 1]
        if len(held) >= wanted or time.monotonic() > deadline:
            return len(held)
        time.sleep(0.2)


def test_killed_and_frozen_workers_give_no_device_twice_and_the_others_finish(
    console: Console, api: Client
) -> None:
    dice = random.Random(20261130)
    console.start_worker("mirror", queues="sync,default")
    console.start_beat("beat")
    workers = [console.start_worker(f"allocator-{n}", queues="schedule") for n in range(2)]
    ask_for_a_device(api, 0)
    assert watch_over(api, seconds=PATIENCE_SECONDS, wanted=1) == 1, console.logs()
    asked = 1
    for round_ in range(ROUNDS):
        for _ in range(CLAIMS // (ROUNDS + 1)):
            ask_for_a_device(api, asked)
            asked += 1
            time.sleep(dice.uniform(0, 0.03))
        victim = dice.randrange(2)
        if round_ % 2 == 0:
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = console.start_worker(f"allocator-{victim}", queues="schedule")
        else:
            for worker in workers:
                # Whichever holds the lease, it wakes up believing in it.
                os.kill(worker.pid, signal.SIGSTOP)
            extra = console.start_worker("allocator-extra", queues="schedule")
            watch_over(api, seconds=FROZEN_SECONDS, wanted=asked)
            for worker in workers:
                os.kill(worker.pid, signal.SIGCONT)
            watch_over(api, seconds=1)
            extra.kill()
            extra.wait()
    while asked < CLAIMS:
        ask_for_a_device(api, asked)
        asked += 1

    finished = watch_over(api, seconds=PATIENCE_SECONDS, wanted=CLAIMS)

    assert finished == CLAIMS, console.logs()
    # A pod is bound after its devices were written.
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(bound_pods(api)) < CLAIMS // 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(bound_pods(api)) == CLAIMS // 2, console.logs()


def bound_pods(api: Client) -> list[JsonObject]:
    return [pod for pod in api.list(PODS).items if _node_of(pod)]


def _node_of(pod: JsonObject) -> str:
    spec: Any = pod["spec"]
    return str(spec.get("nodeName") or "")
