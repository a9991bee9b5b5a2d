"""The node's lock: one prepare or unprepare at a time, over all processes on the node.

`flock` goes with the open file, so the kernel lets go when the process dies, however it dies,
and two threads of one process exclude each other like two processes.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nodeagent.claims.errors import LockTimeoutError

POLL_SECONDS: Final = 0.1
FILE_MODE: Final = 0o600


@contextmanager
def locked(path: Path, *, within_seconds: float) -> Iterator[None]:
    """Hold the lock on a file, which is created if need be and never removed.

    Raises:
        LockTimeoutError: somebody else held it all the time.

    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        _take(descriptor, path=path, deadline=time.monotonic() + within_seconds)
        yield
    finally:
        # Closing the only descriptor of the open file gives the lock back.
        os.close(descriptor)


def _take(descriptor: int, *, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockTimeoutError(f"{path} is held by another process or call") from None
            time.sleep(POLL_SECONDS)
        else:
            return
