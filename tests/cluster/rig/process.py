"""One server process: started, looked at until it serves, stopped, killed, started again."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

READY_SECONDS: Final = 90
"""Long, since a test machine may be busy; a server that ends is noticed at once."""

STOP_SECONDS: Final = 30
LOOK_SECONDS: Final = 0.05
TAIL_LINES: Final = 30

Command = Callable[[], Sequence[str | Path]]


class StartError(Exception):
    """A server did not come up; the message holds the end of its log."""


class Server:
    """One program with its log. The command is made anew at each start, so it may change."""

    def __init__(
        self,
        name: str,
        command: Command,
        *,
        log: Path,
        environment: Mapping[str, str],
        is_ready: Callable[[], bool],
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._environment = environment
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process number while it runs."""
        return self._process.pid if self.is_running and self._process else None

    @property
    def is_running(self) -> bool:
        """Whether the process is there, serving or not."""
        return self._process is not None and self._process.poll() is None

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it serves.

        Raises:
            StartError: it ended, or did not serve in time.

        """
        if self.is_running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(word) for word in self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self._environment),
                # Ctrl-C is for the rig, which decides the order of the end.
                start_new_session=True,
            )
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until it serves.

        Raises:
            StartError: it ended, or did not serve in time.

        """
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if self._process is None or self._process.poll() is not None:
                status = None if self._process is None else self._process.returncode
                raise StartError(f"{self.name} ended with status {status}\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartError(
                    f"{self.name} did not serve within {READY_SECONDS} s\n{self.tail()}"
                )
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        """End it in good order (SIGTERM); kill it where that takes too long."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash does."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it with the same data and ports."""
        self.stop()
        self.start()

    def reap(self) -> None:
        """Take notice that it was ended by somebody else."""
        if self._process is not None:
            self._process.wait(timeout=STOP_SECONDS)

    def tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of its log."""
        if not self.log.exists():
            return f"({self.log} was never written)"
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(text)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def free_ports(count: int) -> list[int]:
    """Choose ports of 127.0.0.1 that nobody listens on, each another."""
    with contextlib.ExitStack() as probes:
        ports = []
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
    return ports


def environment_of(mark: str, folder: Path) -> dict[str, str]:
    """Return our environment, marked as belonging to the rig in this folder."""
    # A proxy is for the world outside, and everything here is on 127.0.0.1.
    inherited = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    # The node's programs call each other, and those of administrators are not on every PATH.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    return inherited | {mark: str(folder), "HOME": str(folder), "PATH": path}
