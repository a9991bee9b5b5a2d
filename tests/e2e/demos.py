"""Runs the demo as a person would, on its own directory and port, and looks at its parts."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dra_console.demo.layout import Layout, Ports
from dra_console.kube.client import Client
from dra_console.running.accounts import manage
from dra_console.running.programs import console_environment

REPOSITORY = Path(__file__).resolve().parents[2]
Answer = TypeVar("Answer")

PATIENCE_SECONDS = 60
"""How fast the product is, benchmarks show; a test that waits on a busy machine must not guess."""

READY_SECONDS = 150
STOP_SECONDS = 60


@dataclass(slots=True)
class Demo:
    """A running demo."""

    home: Path
    process: subprocess.Popen[str]
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return str(self.summary["url"])

    @property
    def layout(self) -> Layout:
        nodes = self.home / "nodes"
        return Layout(home=self.home, nodes=nodes.resolve())

    def client(self) -> Client:
        """Speak to its API server as cluster administrator."""
        return Client.from_kubeconfig(str(self.layout.kubeconfig))

    def environment(self) -> dict[str, str]:
        ports = json.loads(self.layout.ports.read_text())
        web = int(self.url.rstrip("/").rpartition(":")[2])
        return console_environment(self.layout, Ports(web=web, **ports))

    def manage(self, *arguments: str) -> str:
        """Run a management command with the demo's settings."""
        return manage(self.environment(), *arguments)

    def pid_of(self, *words: str) -> int:
        """Find the child whose command line has all the words."""
        for pid, command in children_of(self.process.pid):
            if all(word in command for word in words):
                return pid
        raise AssertionError(f"no child of the demo has {words} in its command line")

    def kill(self, *words: str) -> int:
        """Send SIGKILL to one child and return its process id."""
        pid = self.pid_of(*words)
        os.kill(pid, signal.SIGKILL)
        return pid

    def output(self) -> str:
        return (self.home.parent / "demo-output.txt").read_text()


def children_of(pid: int) -> list[tuple[int, str]]:
    """List a process's children with their command lines."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = []
    for child in map(int, listed):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except FileNotFoundError:
            continue
        found.append((child, command))
    return found


def eventually(
    check: Callable[[], Answer | None], *, seconds: float = PATIENCE_SECONDS, what: str
) -> Answer:
    """Return the first true answer of `check`; fail when none comes in time."""
    deadline = time.monotonic() + seconds
    answer: Answer | None = None
    while time.monotonic() < deadline:
        answer = check()
        if answer:
            return answer
        time.sleep(0.2)
    pytest.fail(f"not within {seconds} s: {what} (last answer: {answer!r})")


@contextmanager
def running_demo(home: Path, *, port: int, workload: bool = False) -> Iterator[Demo]:
    """Start `python -m dra_console.demo`, wait until it is ready, stop it with Ctrl-C's signal."""
    home.parent.mkdir(parents=True, exist_ok=True)
    output = home.parent / "demo-output.txt"
    arguments = ["--dir", str(home), "--port", str(port)]
    if not workload:
        arguments.append("--no-workload")
    with output.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "dra_console.demo", *arguments],
            cwd=REPOSITORY,
            stdout=sink,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    demo = Demo(home, process)
    try:
        _wait_until_ready(demo, output)
        yield demo
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)  # people press it twice
        process.wait(timeout=STOP_SECONDS)


def _wait_until_ready(demo: Demo, output: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not demo.layout.summary.exists():
        if demo.process.poll() is not None or time.monotonic() > deadline:
            logs = "\n".join(
                f"== {log.name}\n{log.read_text()[-1500:]}"
                for log in sorted((demo.home / "logs").glob("*.log"))
            )
            pytest.fail(f"the demo did not become ready:\n{output.read_text()}\n{logs}")
        time.sleep(0.2)
    demo.summary = json.loads(demo.layout.summary.read_text())
