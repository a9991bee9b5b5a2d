"""Whether this process may do what the agent has to."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nodeagent.commands.verdict import Verdict, fault, good, warning

SYS_ADMIN_BIT: Final = 21
KERNEL_THREADS: Final = 2
"""PID of the parent of all kernel threads, in the host's PID namespace alone."""


def verdicts(proc: Path = Path("/proc")) -> Iterator[Verdict]:
    """Look at the user, its capabilities and the PID namespace."""
    subject = "privileges"
    if os.geteuid() != 0:
        yield fault(subject, "not root: kubelet's directories and the GPUs are root's")
    elif not _has_sys_admin(proc):
        yield warning(
            subject,
            "root without CAP_SYS_ADMIN: MIG partitions and MPS daemons cannot be made; run the"
            " container privileged",
        )
    else:
        yield good(subject, "root with CAP_SYS_ADMIN")
    if _sees_host(proc):
        yield good("host's processes", "seen")
    else:
        yield warning(
            "host's processes",
            "not seen: whether a pod still uses a device, and which, stays unknown; set hostPID",
        )


def _has_sys_admin(proc: Path) -> bool:
    for line in (proc / "self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return bool(int(value, 16) >> SYS_ADMIN_BIT & 1)
    return False


def _sees_host(proc: Path) -> bool:
    try:
        return (proc / str(KERNEL_THREADS) / "comm").read_text().strip() == "kthreadd"
    except OSError:
        return False
