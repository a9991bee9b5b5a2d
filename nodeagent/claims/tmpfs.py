"""Mount and unmount memory for one claim. Needs CAP_SYS_ADMIN, as the agent has."""

import ctypes
import os
from pathlib import Path
from typing import Final

MEMORY_FACTS: Final = Path("/proc/meminfo")
FALLBACK_BYTES: Final = 64 << 20
BYTES_PER_KIBIBYTE: Final = 1024
NOSUID: Final = 2
NODEV: Final = 4
DETACH: Final = 2
"""As in `umount --lazy`: whoever still has it open keeps it, and nobody new finds it."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


def mount_tmpfs(directory: Path) -> None:
    """Mount a tmpfs of at most half the memory there, unless one is there already.

    Raises:
        OSError: the kernel refused.

    """
    if directory.is_mount():
        return
    options = f"mode=1777,size={half_of_memory_bytes()}"
    status = _libc.mount(
        b"tmpfs", os.fsencode(directory), b"tmpfs", NOSUID | NODEV, options.encode()
    )
    _check(status, directory)


def unmount(directory: Path) -> None:
    """Unmount whatever is there; nothing being there is fine.

    Raises:
        OSError: the kernel refused.

    """
    if directory.is_mount():
        _check(_libc.umount2(os.fsencode(directory), DETACH), directory)


def half_of_memory_bytes(facts: Path = MEMORY_FACTS) -> int:
    """Return half of the machine's memory, 64 MiB where it cannot be read."""
    try:
        lines = facts.read_text().splitlines()
        total = next(line.split()[1] for line in lines if line.startswith("MemTotal:"))
        return int(total) * BYTES_PER_KIBIBYTE // 2
    except (OSError, StopIteration, IndexError, ValueError):
        return FALLBACK_BYTES


def _check(status: int, directory: Path) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(directory))
