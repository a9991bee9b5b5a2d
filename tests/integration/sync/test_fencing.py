"""A worker that is frozen in mid-batch wakes up and cannot write over its successor.

Real processes on PostgreSQL. About a minute, most of it until leases run out.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from dra_console.kube.client import Client
from dra_console.kube.kinds import RESOURCE_CLAIMS
from tests.integration.devclusters import Devcluster
from tests.integration.sync.conftest import NAMESPACE
from tests.integration.sync.console import Console
from tests.integration.sync.windows import a_new_claim
from tests.postgresql import running_postgresql
from tests.settings import free_port

PATIENCE_SECONDS = 150
"""Leases run for 15 s; the rest is for a machine that is busy with other tests."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def console(server: Devcluster, redis_url: str) -> Iterator[Console]:
    port = free_port()
    with (
        TemporaryDirectory(prefix="dra-fencing-") as directory,
        running_postgresql(Path(directory) / "database", port=port),
    ):
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        console = Console(Path(directory), redis_url, url)
        assert console.manage("migrate").returncode == 0
        added = console.manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
        assert added.returncode == 0, added.stderr
        yield console
        console.kill_all()


def mirrored(console: Console) -> set[str]:
    with psycopg.connect(console.database_url) as connection:
        return {name for (name,) in connection.execute("select name from mirror_resourceclaim")}


def fence(console: Console) -> int:
    with psycopg.connect(console.database_url) as connection:
        row = connection.execute(
            "select fence from mirror_cursor where plural = 'resourceclaims'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def happened_to(console: Console, name: str) -> list[str]:
    with psycopg.connect(console.database_url) as connection:
        rows = connection.execute(
            "select happened from mirror_objectchange where name = %s order by id", [name]
        ).fetchall()
    return [str(happened) for (happened,) in rows]


def wait_until(console: Console, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, console.logs()
        time.sleep(0.1)


def is_stopped(process: subprocess.Popen[bytes]) -> bool:
    status = Path(f"/proc/{process.pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] == "T"


def create(api: Client, name: str) -> None:
    api.create(RESOURCE_CLAIMS, a_new_claim(name), namespace=NAMESPACE)


@pytest.mark.parametrize(
    ("where", "refusal"), [("before", "has written since"), ("inside", "database: ")]
)
def test_a_worker_frozen_in_mid_batch_cannot_write_over_its_successor(
    api: Client, console: Console, where: str, refusal: str
) -> None:
    order = console.directory / "order"
    frozen = console.start_worker(
        "frozen",
        app="tests.integration.sync.stopping_worker",
        environment={"STOP_IN_MID_BATCH": str(order)},
    )
    create(api, "before")
    wait_until(console, lambda: mirrored(console) == {"before"})
    first_fence = fence(console)
    console.start_worker("successor")
    console.start_beat("beat")

    order.write_text(where)
    create(api, "during")
    wait_until(console, lambda: is_stopped(frozen))
    wait_until(console, lambda: "during" in mirrored(console))
    api.delete(RESOURCE_CLAIMS, "during", namespace=NAMESPACE)
    create(api, "after")
    wait_until(console, lambda: mirrored(console) == {"before", "after"})
    its_fence = fence(console)
    frozen.send_signal(signal.SIGCONT)
    log = console.directory / "frozen.log"
    wait_until(console, lambda: refusal in log.read_text())

    assert its_fence > first_fence
    assert mirrored(console) == {"before", "after"}
    assert fence(console) == its_fence
    checked = console.manage("sync_check")
    assert checked.stdout == "no difference\n", checked.stdout + checked.stderr
    assert happened_to(console, "during") == ["created", "deleted"]
