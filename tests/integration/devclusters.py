"""A devcluster in a process of its own, for integration tests of every room.

`from tests.integration.devclusters import devcluster` makes the fixture known to a module;
`running_devcluster` is the same as a context manager, for another scenario or port.
"""

import contextlib
import dataclasses
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.preloaded import PreloadedProcess

START_SECONDS = 60
STOP_SECONDS = 10


@dataclasses.dataclass(slots=True)
class Devcluster:
    """A running devcluster. `url` and `kubeconfig` stay the same across a restart."""

    directory: Path
    nodes_dir: Path
    """Short enough for the unix sockets below it."""

    scenario: str
    options: tuple[str, ...] = ()
    port: int = 0
    process: PreloadedProcess = dataclasses.field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.directory / "devcluster.log"

    def start(self) -> None:
        """Start the process and wait until it serves."""
        self.kubeconfig.unlink(missing_ok=True)
        arguments: list[str | Path] = [
            *("--data-dir", self.directory / "data"),
            *("--port", str(self.port)),
            *("--nodes-dir", self.nodes_dir),
            *("--kubeconfig", self.kubeconfig),
            *("--scenario", self.scenario),
            *self.options,
        ]
        self.process = PreloadedProcess("dra_console.devcluster", arguments, log=self.log)
        deadline = time.monotonic() + START_SECONDS
        while not self.kubeconfig.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                pytest.fail(f"devcluster did not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        server = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self.port = int(server.rpartition(":")[2])

    def kill(self) -> None:
        """End the process as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask the process to end and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"devcluster did not stop:\n{self.log.read_text()}")


@contextlib.contextmanager
def running_devcluster(
    directory: Path, *, scenario: str = "empty", options: tuple[str, ...] = ()
) -> Iterator[Devcluster]:
    """Run a devcluster whose files are below `directory`, on a free port."""
    with tempfile.TemporaryDirectory(prefix="dc") as nodes_dir:
        cluster = Devcluster(directory, Path(nodes_dir), scenario, options)
        cluster.start()
        try:
            yield cluster
        finally:
            if cluster.process.poll() is None:
                cluster.stop()


@pytest.fixture
def devcluster(tmp_path: Path) -> Iterator[Devcluster]:
    """An empty devcluster of the test's own."""
    with running_devcluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def api_server(tmp_path: Path) -> Iterator[Devcluster]:
    """An empty devcluster that serves the API alone.

    With all of it a new node has a kubelet, which takes away the slices of drivers that it
    cannot find: at some moment after the node was made.
    """
    with running_devcluster(tmp_path, options=("--api-only",)) as cluster:
        yield cluster
