"""What is broken on purpose: API servers of both sorts, Redis, and the console's processes."""

import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

import psycopg
import redis

from tests.cluster.rig import Cluster
from tests.integration.devclusters import Devcluster
from tests.integration.sync.console import Console, Process
from tests.programs import need

START_SECONDS: Final = 60


class ApiServer(Protocol):
    """An API server that can be broken and comes back with its data."""

    @property
    def kubeconfig(self) -> Path: ...

    def kill(self) -> None:
        """End it as a crash does."""

    def stop(self) -> None:
        """End it in good order."""

    def start(self) -> None:
        """Start it again and wait until it serves."""

    def forget_history(self) -> None:
        """Answer 410 to everybody who wants to go on from before now."""


@dataclass(frozen=True, slots=True)
class RealApiServer:
    """kube-apiserver and etcd."""

    cluster: Cluster

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    def kill(self) -> None:
        self.cluster.apiserver.kill()

    def stop(self) -> None:
        self.cluster.apiserver.stop()

    def start(self) -> None:
        self.cluster.apiserver.start()

    def forget_history(self) -> None:
        """Compact etcd; what the API server itself remembers goes with its next end."""
        self.cluster.compact()
        self.kill()
        self.start()


@dataclass(frozen=True, slots=True)
class EmbeddedApiServer:
    """A devcluster."""

    devcluster: Devcluster

    @property
    def kubeconfig(self) -> Path:
        return self.devcluster.kubeconfig

    def kill(self) -> None:
        self.devcluster.kill()

    def stop(self) -> None:
        self.devcluster.stop()

    def start(self) -> None:
        self.devcluster.start()

    def forget_history(self) -> None:
        self.devcluster.process.send_signal(signal.SIGUSR1)


@dataclass(slots=True)
class RedisServer:
    """A Redis that keeps nothing on disk: killed, it comes back empty."""

    directory: Path
    port: int
    _process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        words = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir")
        self._process = subprocess.Popen(
            [need("redis-server"), *words, self.directory], stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + START_SECONDS
        client = redis.Redis(port=self.port)
        while time.monotonic() < deadline:
            try:
                client.ping()
                client.close()
            except redis.ConnectionError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("redis-server did not start")

    def state(self) -> str:
        """Say who follows and what waits, for messages."""
        client = redis.Redis(port=self.port, decode_responses=True)
        leases, waiting = sorted(client.keys("lease:{sync:*}")), client.llen("sync")
        client.close()
        return f"{waiting} tasks wait; held: {leases}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Database:
    """The console's PostgreSQL database."""

    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def cut_connections(self) -> int:
        """Throw everybody out; return how many there were."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = 'postgres' and pid <> pg_backend_pid()"
            )
            return len(rows.fetchall())

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(query.encode(), values).fetchall()


def build_wrong_clock(directory: Path) -> Path:
    """Compile the library that makes a process's wall clock wrong."""
    library = directory / "wrong_clock.so"
    source = Path(__file__).with_name("wrong_clock.c")
    words = ("-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl")
    subprocess.run([need("gcc"), *words], check=True)
    return library


@dataclass(slots=True)
class Crew:
    """The console's workers and beats by name, each with its own wrong or right clock."""

    console: Console
    clocks: Mapping[str, timedelta]
    """By how much each one's clock is wrong; a name without one has the right time."""

    wrong_clock: Path
    """What `build_wrong_clock` made."""

    running: dict[str, Process] = field(default_factory=dict)

    def start(self, name: str) -> None:
        environment: dict[str, str] = {}
        if offset := self.clocks.get(name):
            environment = {
                "LD_PRELOAD": str(self.wrong_clock),
                "WRONG_CLOCK_SECONDS": str(round(offset.total_seconds())),
            }
        if "beat" in name:
            self.running[name] = self.console.start_beat(name, environment=environment)
            return
        self.running[name] = self.console.start_worker(
            name, app="tests.cluster.chaos.quick_worker", environment=environment
        )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def freeze(self, name: str) -> None:
        """Stop it in whatever it does; it does not know."""
        self.running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGCONT)
