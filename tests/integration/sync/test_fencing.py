"""A worker that is frozen in mid-batch wakes up and cannot write over its successor.

Real processes on PostgreSQL. About a minute, most of it until leases run out.
"""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import LiteralString

import psycopg
import pytest

from dra_console.kube.client import Client
from dra_console.kube.kinds import RESOURCE_CLAIMS
from tests.integration.devclusters import Devcluster
from tests.integration.sync.conftest import NAMESPACE
from tests.integration.sync.console import Console, Process
from tests.integration.sync.windows import a_new_claim
from tests.migrated import running_migrated_postgresql
from tests.settings import free_port

PATIENCE_SECONDS = 150
"""Leases run for 15 s; the rest is for a machine that is busy with other tests."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

Database = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a server that has a migrated database as a template of others."""
    port = free_port()
    with (
        TemporaryDirectory(prefix="dra-fencing-") as directory,
        running_migrated_postgresql(Path(directory) / "database", port=port),
    ):
        yield f"postgresql://postgres@127.0.0.1:{port}"


@pytest.fixture
def console(
    server: Devcluster, redis_url: str, postgresql: str, tmp_path: Path
) -> Iterator[Console]:
    execute(postgresql, "drop database if exists console with (force)")
    execute(postgresql, "create database console template test_console")
    console = Console(tmp_path, redis_url, f"{postgresql}/console", is_preloaded=True)
    added = console.manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
    assert added.returncode == 0, added.stderr
    yield console
    console.kill_all()


@pytest.fixture
def database(console: Console) -> Iterator[Database]:
    with psycopg.connect(console.database_url, autocommit=True) as connection:
        yield connection


def execute(server: str, statement: LiteralString) -> None:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statement)


def mirrored(database: Database) -> set[object]:
    return {name for (name,) in database.execute("select name from mirror_resourceclaim")}


def fence(database: Database) -> int:
    row = database.execute(
        "select fence from mirror_cursor where plural = 'resourceclaims'"
    ).fetchone()
    assert row is not None
    return int(str(row[0]))


def happened_to(database: Database, name: str) -> list[str]:
    rows = database.execute(
        "select happened from mirror_objectchange where name = %s order by id", [name]
    )
    return [str(happened) for (happened,) in rows]


def wait_until(console: Console, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, console.logs()
        time.sleep(0.1)


def is_stopped(process: Process) -> bool:
    status = Path(f"/proc/{process.pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] == "T"


def create(api: Client, name: str) -> None:
    api.create(RESOURCE_CLAIMS, a_new_claim(name), namespace=NAMESPACE)


@pytest.mark.parametrize(
    ("where", "refusal"), [("before", "has written since"), ("inside", "database: ")]
)
def test_a_worker_frozen_in_mid_batch_cannot_write_over_its_successor(
    api: Client, console: Console, database: Database, where: str, refusal: str
) -> None:
    order = console.directory / "order"
    frozen = console.start_worker(
        "frozen",
        app="tests.integration.sync.stopping_worker",
        environment={"STOP_IN_MID_BATCH": str(order)},
    )
    create(api, "before")
    wait_until(console, lambda: mirrored(database) == {"before"})
    first_fence = fence(database)
    console.start_worker("successor")
    console.start_beat("beat")

    order.write_text(where)
    create(api, "during")
    wait_until(console, lambda: is_stopped(frozen))
    wait_until(console, lambda: "during" in mirrored(database))
    api.delete(RESOURCE_CLAIMS, "during", namespace=NAMESPACE)
    create(api, "after")
    wait_until(console, lambda: mirrored(database) == {"before", "after"})
    its_fence = fence(database)
    frozen.send_signal(signal.SIGCONT)
    log = console.directory / "frozen.log"
    wait_until(console, lambda: refusal in log.read_text())

    assert its_fence > first_fence
    assert mirrored(database) == {"before", "after"}
    assert fence(database) == its_fence
    checked = console.manage("sync_check")
    assert checked.stdout == "no difference\n", checked.stdout + checked.stderr
    assert happened_to(database, "during") == ["created", "deleted"]
