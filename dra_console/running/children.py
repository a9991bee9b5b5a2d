"""Processes on this machine: started, watched, started again when they end, and stopped.

Each child leads a session of its own, so that Ctrl-C reaches only the supervisor, which
stops the children in order. Should the supervisor itself be killed, the kernel ends them
(`PR_SET_PDEATHSIG`).
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_console.running.state import Say

STOP_SECONDS = 12
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 20.0
STEADY_SECONDS = 20.0
"""A child that ran this long starts its next pause from the beginning."""

PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. `stop_order`: lower ends first."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    stop_order: int


@dataclass(slots=True)
class Child:
    """One program and its current process, if it runs."""

    program: Program
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause_seconds: float = FIRST_PAUSE_SECONDS
    start_again_at: float | None = None

    def start(self) -> None:
        """Start the process; its output is appended to the log."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.program.argv,
                env={**os.environ, **self.program.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - the supervisor has one thread
            )
        self.started_at = time.monotonic()
        self.start_again_at = None


class Supervisor:
    """Keeps the programs running until it is told to stop."""

    def __init__(self, *, logs: Path, say: Say) -> None:
        self._logs = logs
        self._say = say
        self.children: dict[str, Child] = {}

    def start(self, programs: Iterable[Program]) -> None:
        """Start programs that are not under watch yet."""
        for program in programs:
            child = Child(program, self._logs / f"{program.name}.log")
            self.children[program.name] = child
            child.start()

    def tend(self) -> None:
        """Look at every child once: note who ended, start again whose pause is over."""
        now = time.monotonic()
        for child in self.children.values():
            if child.start_again_at is not None:
                if now >= child.start_again_at:
                    child.start()
            elif child.process is not None and child.process.poll() is not None:
                self._schedule_start(child, now)

    def _schedule_start(self, child: Child, now: float) -> None:
        if now - child.started_at >= STEADY_SECONDS:
            child.pause_seconds = FIRST_PAUSE_SECONDS
        code = child.process.returncode if child.process else 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        self._say(
            f"{child.program.name} {how}: starting again in {child.pause_seconds:g} s "
            f"(log: {child.log})"
        )
        child.start_again_at = now + child.pause_seconds
        child.pause_seconds = min(child.pause_seconds * 2, LONGEST_PAUSE_SECONDS)

    def stop(self) -> None:
        """Stop all children in their order; kill whoever does not end in time."""
        orders = sorted({child.program.stop_order for child in self.children.values()})
        for order in orders:
            self._stop_together(
                [
                    child.process
                    for child in self.children.values()
                    if child.program.stop_order == order and child.process is not None
                ]
            )
        self.children.clear()

    def _stop_together(self, processes: list[subprocess.Popen[bytes]]) -> None:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._say(f"{process.args!r} did not stop in {STOP_SECONDS} s: killed")
                process.kill()
                process.wait()


def _end_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
