"""Find processes by what stands in their environment, and end them.

A process id says nothing after a restart of the agent, since ids come back; what a process was
started with stays.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
POLL_SECONDS: Final = 0.05


def processes_with(variable: str, value: str) -> Iterator[int]:
    """Yield the processes that were started with a variable of that value."""
    wanted = f"{variable}={value}".encode()
    for path in PROC.iterdir():
        if path.name.isdigit():
            # It may have ended since, or be one that nobody may look into.
            with suppress(OSError):
                if wanted in (path / "environ").read_bytes().split(b"\0"):
                    yield int(path.name)


def kill(processes: Iterable[int], *, within_seconds: float) -> None:
    """End processes with SIGKILL and wait until they are gone, or until the time is over."""
    left = set(processes)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + within_seconds
    while left and time.monotonic() < deadline:
        left = {process for process in left if _runs(process)}
        time.sleep(POLL_SECONDS if left else 0)


def _runs(process: int) -> bool:
    try:
        status = (PROC / str(process) / "stat").read_text()
    except OSError:
        return False
    # A zombie runs nothing; its parent has only not asked for it yet.
    return status.rpartition(")")[2].split()[0] != "Z"
