"""Workers, beats and the API server die at random; the mirror is right in the end.

Slow, since real workers start and stop: about a minute.
"""

import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ConflictError, InvalidError, NotFoundError
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.sync.tasks import WINDOW_SECONDS
from tests.builders.objects import a_device, an_allocation
from tests.integration.devclusters import Devcluster
from tests.integration.sync.conftest import NAMESPACE
from tests.integration.sync.console import Console
from tests.integration.sync.windows import a_new_claim
from tests.migrated import put_sqlite

pytestmark = pytest.mark.long

ROUNDS = 5
WRITES_PER_ROUND = 60
PATIENCE_SECONDS = 150
"""Enough to start Python twice on a machine that is busy with other tests."""


@pytest.fixture
def console(server: Devcluster, redis_url: str, tmp_path: Path) -> Iterator[Console]:
    console = Console(tmp_path, redis_url, is_preloaded=True)
    put_sqlite(console.sqlite_file)
    added = console.manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
    assert added.returncode == 0, added.stderr
    yield console
    console.kill_all()


def a_published_slice(name: str, devices: int) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [a_device(f"gpu-{number}") for number in range(devices)],
        },
    }


def write_something(api: Client, dice: random.Random) -> None:
    """Create, change or delete a claim or a slice; what cannot be done now is left."""
    name = f"it-{dice.randrange(30)}"
    act = dice.choice(("create", "allocate", "clear", "delete", "publish", "withdraw"))
    try:
        match act:
            case "create":
                api.create(RESOURCE_CLAIMS, a_new_claim(name), namespace=NAMESPACE)
            case "allocate" | "clear":
                claim = api.get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)
                status: JsonObject = {"allocation": an_allocation()} if act == "allocate" else {}
                api.replace(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")
            case "delete":
                api.delete(RESOURCE_CLAIMS, name, namespace=NAMESPACE)
            case "publish":
                api.create(RESOURCE_SLICES, a_published_slice(name, dice.randrange(1, 4)))
            case _:
                api.delete(RESOURCE_SLICES, name)
    except (ConflictError, InvalidError, NotFoundError):
        return


def test_the_mirror_survives_killed_workers_and_api_servers(
    server: Devcluster, api: Client, console: Console
) -> None:
    dice = random.Random(20261129)
    workers = [console.start_worker(name) for name in ("one", "two")]
    for name in ("beat-one", "beat-two"):
        console.start_beat(name)
    for number in range(ROUNDS):
        for _ in range(WRITES_PER_ROUND):
            write_something(api, dice)
            time.sleep(dice.random() * 0.05)
        if number == ROUNDS // 2:
            server.kill()
            server.start()
        victim = dice.randrange(len(workers))
        workers[victim].kill()
        workers[victim].wait()
        workers[victim] = console.start_worker(("one", "two")[victim])

    last = api.create(NAMESPACES, {"metadata": {"name": "last"}})
    wait_until_mirrored(console, last)
    checked = console.manage("sync_check")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert births_seen_twice(console) == []


def wait_until_mirrored(console: Console, namespace: JsonObject) -> None:
    """A killed worker's lease runs for 15 s, and beat needs up to 5 s to see that it is over."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    metadata = namespace["metadata"]
    assert isinstance(metadata, dict)
    while not rows(console, "select 1 from mirror_namespace where uid = ?", metadata["uid"]):
        assert time.monotonic() < deadline, console.logs()
        time.sleep(0.2)


def births_seen_twice(console: Console) -> list[object]:
    """Return the objects whose first sight was written down more than once."""
    return rows(
        console,
        "select uid from mirror_objectchange where happened = ? group by uid having count(*) > 1",
        "created",
    )


def rows(console: Console, query: str, *values: object) -> list[object]:
    connection = sqlite3.connect(console.sqlite_file, timeout=20)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def test_a_worker_that_is_asked_to_stop_does_so_soon_and_leaves_no_lease_to_wait_for(
    api: Client, console: Console, redis_url: str
) -> None:
    worker = console.start_worker("one")
    wait_until_mirrored(console, api.create(NAMESPACES, {"metadata": {"name": "first"}}))
    leases = redis.Redis.from_url(redis_url)
    held = set(leases.keys("lease:{sync:*}"))

    asked_at = time.monotonic()
    worker.terminate()
    worker.wait(timeout=60)
    stopped_after_seconds = time.monotonic() - asked_at
    left = set(leases.keys("lease:{sync:*}"))
    leases.close()

    assert stopped_after_seconds < WINDOW_SECONDS / 10
    assert held
    assert left == set()
