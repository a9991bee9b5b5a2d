"""What processes that take part in a measurement took of the processors, by what they are for."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")
CPU_FIELDS: Final = slice(11, 15)
"""User and system time of a process, and of those of its children that have ended."""

ROLES: Final[Mapping[str, str]] = {
    "benchmarks.waiting": "load",
    "-Q schedule": "allocator",
    "-Q sync": "mirror",
    "dra_console.celery beat": "beat",
    "dra_console.devcluster": "api_server",
    "kube-apiserver": "api_server",
    "etcd": "etcd",
    "redis-server": "redis",
    "postgres": "database",
}
"""By what the command line of a process has in it, the first that fits."""


def cpu_by_role(home: str) -> dict[str, float]:
    """Return processor seconds so far of this process's parent and all that it has started.

    `home` is a directory that stands in the command line of servers that have left the family.
    """
    commands = {pid: command for pid in _pids() if (command := _command(pid))}
    parents = {pid: parent for pid in commands if (parent := _parent(pid)) is not None}
    roots = {os.getppid()} | {pid for pid, command in commands.items() if home in command}
    seconds: defaultdict[str, float] = defaultdict(float)
    for pid, command in commands.items():
        if _descends(pid, roots, parents):
            seconds[_role(command)] += _cpu_seconds(pid)
    return dict(seconds)


def _descends(pid: int, roots: set[int], parents: Mapping[int, int]) -> bool:
    at: int | None = pid
    while at is not None:
        if at in roots:
            return True
        at = parents.get(at)
    return False


def _role(command: str) -> str:
    return next((role for part, role in ROLES.items() if part in command), "other")


def _pids() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _cpu_seconds(pid: int) -> float:
    return sum(map(int, _stat(pid)[CPU_FIELDS])) / TICKS
