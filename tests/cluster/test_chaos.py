"""Thousands of writes while everything is killed: the mirror is right in the end.

The plan of writes and faults comes from one number, which is printed; `DRA_CHAOS_SEED`
repeats it, `DRA_CHAOS_OPERATIONS` makes it longer. Between the threads that write, and
between them and the faults, the order is the machine's.
"""

import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import BY_PLURAL
from tests.cluster.chaos.bodies import NAMESPACES, new_object
from tests.cluster.chaos.faults import BEATS, WORKERS, Breaker, faults_of
from tests.cluster.chaos.http import Connection
from tests.cluster.chaos.plan import OBJECTS, Plan
from tests.cluster.chaos.servers import (
    ApiServer,
    Crew,
    Database,
    EmbeddedApiServer,
    RealApiServer,
    RedisServer,
    build_wrong_clock,
)
from tests.cluster.chaos.story import impossible_histories
from tests.cluster.chaos.writer import Outcome, Writer
from tests.cluster.conftest import StartCluster
from tests.cluster.rig.process import free_ports
from tests.integration.devclusters import running_devcluster
from tests.integration.sync.console import Console
from tests.postgresql import running_postgresql

pytestmark = pytest.mark.timeout(1500)

SEED = int(os.environ.get("DRA_CHAOS_SEED") or time.time())
OPERATIONS = int(os.environ.get("DRA_CHAOS_OPERATIONS") or 10_000)
EMBEDDED_SHARE = 0.3
"""devcluster is slower, and the real cluster is what counts."""

HOUR = timedelta(hours=1)
CLOCKS = {"worker-one": HOUR, "worker-two": -HOUR, "beat-one": -HOUR, "beat-two": HOUR}
COUNTS = {
    "worker killed": 6,
    "beat killed": 2,
    "worker frozen": 1,
    "history forgotten": 3,
    "history forgotten while no worker runs": 1,
    "API server killed": 2,
    "API server restarted": 1,
    "Redis killed": 2,
    "connections cut": 4,
}
LEAD = 150
"""How many writes may pass a fault before it has been done."""

SETTLE_SECONDS = 150
"""A killed worker's lease runs for 15 s, and beat needs up to 5 s to see that it is over; the
rest is for a machine that is busy with other tests."""

MORE = 10
FOLLOWED_KINDS = 3
"""So many must have moved on since the last fault before the next."""

HARMLESS_SHARE = 0.03


@dataclass(slots=True)
class Pace:
    """How far the writers may go, so that faults come where the plan wants them."""

    outcome: Outcome
    limit: int = LEAD
    _moved: threading.Condition = field(default_factory=threading.Condition)

    def before_each(self) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self.outcome.done < self.limit)

    def allow(self, limit: int) -> None:
        with self._moved:
            self.limit = max(limit, self.limit)
            self._moved.notify_all()

    def wait_for(self, done: int, writers: list[threading.Thread]) -> None:
        while self.outcome.done < done and any(writer.is_alive() for writer in writers):
            time.sleep(0.02)


@dataclass(slots=True)
class Arena:
    """Everything that takes part."""

    api_server: ApiServer
    crew: Crew
    redis: RedisServer
    database: Database | None
    operations: int

    @property
    def console(self) -> Console:
        return self.crew.console


@pytest.fixture
def directory() -> Iterator[Path]:
    # Not pytest's own: PostgreSQL's user must be able to pass through.
    path = Path(tempfile.mkdtemp(prefix="dra-chaos-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["real cluster and PostgreSQL", "devcluster and SQLite"])
def arena(request: pytest.FixtureRequest, directory: Path) -> Iterator[Arena]:
    redis_port, database_port = free_ports(2)
    with ExitStack() as stack:
        database: Database | None = None
        if "real" in request.param:
            start_cluster: StartCluster = request.getfixturevalue("start_cluster")
            api_server: ApiServer = RealApiServer(start_cluster())
            stack.enter_context(running_postgresql(directory / "database", port=database_port))
            database = Database(database_port)
        else:
            # The API alone: in the rig, too, nobody but the plan writes.
            (directory / "devcluster").mkdir()
            embedded = running_devcluster(directory / "devcluster", options=("--api-only",))
            api_server = EmbeddedApiServer(stack.enter_context(embedded))
        redis = RedisServer(directory, redis_port)
        redis.start()
        stack.callback(redis.kill)
        console = Console(directory, redis.url, database.url if database else "")
        stack.callback(console.kill_all)
        crew = Crew(console, CLOCKS, build_wrong_clock(directory))
        operations = OPERATIONS if database else round(OPERATIONS * EMBEDDED_SHARE)
        yield Arena(api_server, crew, redis, database, operations)


def test_the_mirror_is_right_after_everything_was_killed(arena: Arena) -> None:
    console, kubeconfig = arena.console, arena.api_server.kubeconfig
    began_at = time.monotonic()
    begin(arena)
    operations = arena.operations
    plan = Plan(SEED, operations)
    outcome = Outcome()
    pace = Pace(outcome)
    writers = [
        threading.Thread(
            target=Writer(kubeconfig, outcome).run,
            args=(of_thread,),
            kwargs={"before_each": pace.before_each},
            daemon=True,
        )
        for of_thread in plan.by_thread
    ]
    for writer in writers:
        writer.start()

    def write_on(count: int) -> None:
        pace.allow(outcome.done + count)
        pace.wait_for(outcome.done + count, writers)

    def write_more() -> bool:
        write_on(MORE)
        return outcome.done < operations

    breaker = Breaker(arena.api_server, arena.crew, arena.redis, arena.database, write_on)
    counts = {name: n for name, n in COUNTS.items() if arena.database or name != "connections cut"}
    positions = cursors(arena)
    for fault in faults_of(SEED, operations=operations, counts=counts):
        pace.allow(fault.after + LEAD)
        pace.wait_for(fault.after, writers)
        wait_until_followed(arena, since=positions, write_on=write_more)
        breaker.do(fault)
        positions = cursors(arena)
    pace.allow(operations)
    for writer in writers:
        writer.join()
    wrote_seconds = time.monotonic() - began_at
    settle(arena)

    checked = console.manage("sync_check")
    seen = seen_by_workers(console)
    figures = {
        "seed": SEED,
        "writes": outcome.done,
        "statuses": dict(outcome.statuses),
        "seconds until all was written": round(wrote_seconds),
        "seconds until all was checked": round(time.monotonic() - began_at),
        "faults": dict(breaker.done),
        "seen by the workers": dict(seen),
    }
    sys.stdout.write(f"{figures}\n")
    impossible = impossible_histories(history(arena))

    assert outcome.done == operations, figures
    assert outcome.refusals == [], "the plan shall hold no write that is refused"
    harmless = sum(outcome.statuses[status] for status in (404, 409))
    assert harmless <= HARMLESS_SHARE * operations, "most writes shall do something"
    assert checked.stdout == "no difference\n", (figures, checked.stdout, checked.stderr)
    assert impossible == [], figures
    assert seen["version expired"] > 0, figures


def cursors(arena: Arena) -> dict[object, object]:
    return dict(rows(arena, "select plural, resource_version from mirror_cursor"))  # type: ignore[arg-type]


def wait_until_followed(
    arena: Arena, *, since: dict[object, object], write_on: Callable[[], bool]
) -> None:
    """Wait until the mirror has moved on, or nothing would be there to be broken.

    A mirror that is up to date moves on only when something is written; `write_on` lets that
    happen, and tells whether there is more to come.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        moved = [plural for plural, version in cursors(arena).items() if version != since[plural]]
        if len(moved) >= FOLLOWED_KINDS:
            return
        assert time.monotonic() < deadline, (
            f"only {moved} are followed; {arena.redis.state()}\n{arena.console.logs()}"
        )
        if not write_on():
            return
        time.sleep(0.5)


def begin(arena: Arena) -> None:
    connection = Connection(arena.api_server.kubeconfig)
    for name in NAMESPACES:
        labels: JsonObject = {"resource.kubernetes.io/admin-access": "true"}
        body: JsonObject = {"metadata": {"name": name, "labels": labels}}
        status, answer = connection.send("POST", "/api/v1/namespaces", body)
        assert status == 201, answer
    connection.close()
    migrated = arena.console.manage("migrate")
    assert migrated.returncode == 0, migrated.stderr
    added = arena.console.manage(
        "cluster", "add", "lab", "--kubeconfig", str(arena.api_server.kubeconfig)
    )
    assert added.returncode == 0, added.stderr
    for name in (*WORKERS, *BEATS):
        arena.crew.start(name)


def settle(arena: Arena) -> None:
    """Wait until an object of each kind that was created last is mirrored."""
    import random

    connection = Connection(arena.api_server.kubeconfig)
    wanted: dict[str, str] = {}
    for plural, count in OBJECTS.items():
        kind = BY_PLURAL[plural]
        number = count + 1 if plural != "pods" else count
        body = new_object(plural, number, random.Random(0), pod_uid="")
        metadata = body["metadata"]
        assert isinstance(metadata, dict)
        metadata["name"] = "last"
        namespace = NAMESPACES[0] if kind.namespaced else None
        if namespace:
            metadata["namespace"] = namespace
        status, answer = connection.send("POST", kind.path(namespace), body)
        assert status == 201, answer
        stored = answer["metadata"]
        assert isinstance(stored, dict)
        wanted[plural] = str(stored["uid"])
    connection.close()
    deadline = time.monotonic() + SETTLE_SECONDS
    for plural, uid in wanted.items():
        table = f"mirror_{BY_PLURAL[plural].kind.lower()}"
        query = f"select uid from {table} where uid = '{uid}'"  # noqa: S608 - both are ours
        while not rows(arena, query):
            assert time.monotonic() < deadline, f"{plural}: not mirrored\n{arena.console.logs()}"
            time.sleep(0.2)


def history(arena: Arena) -> list[tuple[str, str]]:
    found = rows(arena, "select uid, happened from mirror_objectchange order by id")
    return [(str(uid), str(happened)) for uid, happened in found]


def rows(arena: Arena, query: str) -> list[tuple[object, ...]]:
    if arena.database is not None:
        return arena.database.rows(query)
    return arena.console.rows(query)


def seen_by_workers(console: Console) -> Counter[str]:
    """Count what the workers said of their windows."""
    said = re.sub(r"\x1b\[[0-9;]*m", "", console.logs())
    seen: Counter[str] = Counter()
    for what in ("version expired", "window failed", "window called off", "lease lost"):
        seen[what] = said.count(what)
    seen["fence refused"] = said.count("has written since")
    seen["lists"] = len(re.findall(r"\blisted\b", said))
    seen["lists again"] = seen["lists"] - len(OBJECTS)
    return seen
