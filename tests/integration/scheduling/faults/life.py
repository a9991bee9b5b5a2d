"""One worker's life: a forked process that opens an allocation window and may be killed in it.

Forked from a process that has Django loaded, so that it costs milliseconds. It shares no
connection with its parent. At the write that it was given it kills or stops itself with the
signal that a crash or the operating system would send; nothing is cleaned up.
"""

import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import connections

from dra_console import leases
from dra_console.kube import transport
from dra_console.leases import lease
from dra_console.mirror import clusters
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating import feed, wakes
from dra_console.scheduling.allocating.window import Window, allocate
from dra_console.scheduling.writing import points
from dra_console.scheduling.writing.points import Moment, WritePoint
from tests.integration.scheduling.faults.proxy import CLIENT_GIVES_UP_SECONDS

WINDOW_SECONDS: Final = 4.0
IDLE_SECONDS: Final = 0.05
POLL_SECONDS: Final = 0.05
PATIENT_SECONDS: Final = 30.0
LEASE_TRIES_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class End:
    """Where a life ends, or is interrupted."""

    point: WritePoint
    moment: Moment
    nth: int
    """At which passing of the point."""

    stops: bool = False
    """Stopped (SIGSTOP) and gone on with later, instead of killed."""

    def __str__(self) -> str:
        return f"{'stopped' if self.stops else 'killed'} {self.moment} {self.point}"


@dataclass(frozen=True, slots=True)
class Life:
    """A running worker."""

    pid: int
    end: End | None

    def wait(self, *, seconds: float) -> int | None:
        """Return its wait status once it has ended or stopped; None: neither in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return status
            time.sleep(0.002)
        return None

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def begin(
    cluster: Cluster, *, end: End | None, lease_seconds: int, reached: Path, log: Path
) -> Life:
    """Fork a worker; it writes to `reached` which points it passed."""
    connections.close_all()
    pid = os.fork()
    if pid:
        return Life(pid, end)
    status = 1
    try:
        _live(cluster, end, lease_seconds, reached, log)
        status = 0
    except BaseException:  # noqa: BLE001 - a child must never return into its parent's code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _live(cluster: Cluster, end: End | None, lease_seconds: int, reached: Path, log: Path) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
    for cache in (leases._redis, leases._script, wakes._redis):
        cache.cache_clear()
    clusters._kept.clear()
    for module, name, value in (
        (transport, "READ_SECONDS", CLIENT_GIVES_UP_SECONDS if end else PATIENT_SECONDS),
        (feed, "POLL_SECONDS", POLL_SECONDS),
    ):
        setattr(module, name, value)
    points.listener = _Listener(end, os.open(reached, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
    deadline = time.monotonic() + LEASE_TRIES_SECONDS
    while time.monotonic() < deadline:
        with lease(f"allocate:{cluster.pk}", seconds=lease_seconds) as held:
            if held is not None:
                allocate(Window(cluster, held, WINDOW_SECONDS, IDLE_SECONDS))
                return
        time.sleep(0.01)


class _Listener:
    def __init__(self, end: End | None, reached: int) -> None:
        self._end = end
        self._left = end.nth if end else 0
        self._reached = reached

    def __call__(self, point: WritePoint, moment: Moment) -> None:
        os.write(self._reached, f"{moment} {point}\n".encode())
        end = self._end
        if end is None or (point, moment) != (end.point, end.moment):
            return
        self._left -= 1
        if self._left == 0:
            os.write(self._reached, f"{end}\n".encode())
            os.kill(os.getpid(), signal.SIGSTOP if end.stops else signal.SIGKILL)
