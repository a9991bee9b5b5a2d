"""Servers for one run, each empty and gone afterwards: PostgreSQL, Redis, the API server."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.mirror_objects import Fleet

START_SECONDS: Final = 60.0


@contextmanager
def api_server(fleet: Fleet) -> Iterator[str]:
    """Serve a fleet for the block; yields the address."""
    sizes = {"--nodes": fleet.nodes, "--gpus": fleet.gpus, "--claims": fleet.claims}
    options = [text for name, size in sizes.items() for text in (name, str(size))]
    command = [sys.executable, "-m", "benchmarks.api_server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None:
            raise AssertionError("the pipe was asked for")
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextmanager
def devcluster(home: Path) -> Iterator[Path]:
    """Run the embedded cluster's API server for the block; yields its kubeconfig."""
    kubeconfig = home / "kubeconfig"
    options = ["--data-dir", home / "data", "--nodes-dir", home / "nodes"]
    options += ["--kubeconfig", kubeconfig, "--port", "0", "--kept-events", "50000"]
    command = [sys.executable, "-m", "dra_console.devcluster", *map(str, options), "--api-only"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for(kubeconfig.exists, "the embedded cluster does not serve")
            yield kubeconfig
        finally:
            server.terminate()


@contextmanager
def real_api_server() -> Iterator[Path]:
    """Run etcd and kube-apiserver for the block, without controllers; yields a kubeconfig."""
    from tests.cluster.rig import running_cluster  # noqa: PLC0415 - only where it is asked for

    with running_cluster() as cluster:
        yield cluster.kubeconfig


@contextmanager
def redis_server(home: Path) -> Iterator[str]:
    """Run Redis for the block; yields its URL."""
    port = _free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([*command, "--dir", str(home)], stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for_port(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """Run PostgreSQL with its own defaults for the block; yields the URL of a database."""
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"))
    place = home / "postgresql"
    place.mkdir(mode=0o700)
    as_owner = _as_unprivileged(home, place)
    port = _free_port()
    _run([*as_owner, str(binaries / "initdb"), "-D", str(place), "-U", "postgres", "-A", "trust"])
    options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1"
    control = [*as_owner, str(binaries / "pg_ctl"), "-D", str(place), "-w"]
    _run([*control, "-l", str(place / "server.log"), "-o", options, "start"])
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        _run([*control, "-m", "immediate", "stop"])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _as_unprivileged(home: Path, place: Path) -> list[str]:
    """PostgreSQL refuses to run as root: use Debian's user `postgres` there."""
    if os.geteuid() != 0:
        return []
    home.chmod(0o755)
    shutil.chown(place, "postgres", "postgres")
    return ["runuser", "-u", "postgres", "--"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.05)


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nobody listens on port {port}")
