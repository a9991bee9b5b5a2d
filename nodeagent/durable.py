"""Files that are whole after a crash: the old content or the new one, never half of either."""

import os
from pathlib import Path


def write_durably(path: Path, content: bytes, *, mode: int) -> None:
    """Replace a file's content so that it survives a kill or a power cut at any moment.

    The temporary name begins with a dot and ends in `.tmp`, which neither a container runtime
    nor kubelet reads. A left-over of an earlier crash is overwritten.
    """
    temporary = path.with_name(f".{path.name}.tmp")
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
