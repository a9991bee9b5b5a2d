"""Files that are whole after a crash: the old content or the new one, never half of either."""

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

PROCESS: Final = secrets.token_hex(4)
"""Of this process in temporary names: in an update two agents write the same files for a while,
each in a namespace of process ids of its own perhaps."""

LEFT_OVER_SECONDS: Final = 60.0
"""A temporary file that old is nobody's any more: a write takes milliseconds."""


def write_durably(path: Path, content: bytes, *, mode: int) -> None:
    """Replace a file's content so that it survives a kill or a power cut at any moment.

    The temporary name begins with a dot and ends in `.tmp`, which neither a container runtime
    nor kubelet reads; no other process has the same one. Those that crashes left are removed.
    """
    temporary = path.with_name(f".{path.name}.{PROCESS}.tmp")
    _remove_left_overs(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_left_overs(path: Path) -> None:
    now = time.time()
    for temporary in path.parent.glob(f".{path.name}.{'[0-9a-f]' * len(PROCESS)}.tmp"):
        # Whoever is removed under is slower than any disk, and writes again.
        with suppress(FileNotFoundError):
            if now - temporary.stat().st_mtime > LEFT_OVER_SECONDS:
                temporary.unlink()
