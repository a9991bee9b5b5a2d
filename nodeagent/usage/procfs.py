"""Processes as `/proc` shows them, safe against ids that come back for another process.

GPU drivers name processes by their ids in the host's namespace, so the agent has to share it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodeagent.usage.cgroups import Owner, is_hidden, owner_of

START_TIME: Final = 19
"""Index of the start time among the fields of `stat` after the name (field 22 of all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process that was there for as long as it was looked at."""

    pid: int
    started: str
    """Clock ticks since boot: with the id, it names a process for ever."""

    name: str
    """At most 15 characters."""

    owner: Owner | None
    """`None`: of no pod."""

    is_hidden: bool = False
    """Its group cannot be seen from here, so nothing is known of its owner."""


@dataclass(frozen=True, slots=True)
class Procfs:
    """The processes of a host."""

    root: Path = Path("/proc")

    def find(self, pid: int) -> Process | None:
        """Look at one process; `None` if it ended, or became another, meanwhile."""
        directory = self.root / str(pid)
        try:
            before = _stat(directory)
            cgroup = (directory / "cgroup").read_text()
            after = _stat(directory)
        except OSError:
            return None
        if before is None or before != after:
            return None
        name, started = before
        return Process(
            pid=pid,
            started=started,
            name=name,
            owner=owner_of(cgroup),
            is_hidden=is_hidden(cgroup),
        )

    def of_pods(self, pod_uids: Collection[str]) -> Iterator[Process]:
        """Yield the processes of some pods' containers, looking once at every process."""
        for path in self.root.iterdir() if pod_uids else ():
            if not path.name.isdigit() or not self._is_of(pod_uids, path):
                continue
            found = self.find(int(path.name))
            if found is not None and found.owner is not None and found.owner.container_id:
                yield found

    def _is_of(self, pod_uids: Collection[str], directory: Path) -> bool:
        try:
            owner = owner_of((directory / "cgroup").read_text())
        except OSError:
            return False
        return owner is not None and owner.pod_uid in pod_uids

    def is_still(self, process: Process) -> bool:
        """Tell whether the process runs, and is not another of the same id."""
        found = self.find(process.pid)
        return found is not None and found.started == process.started

    def file_of(self, process: Process, path: str) -> Path:
        """Return where a process's file is to be found from here."""
        return self.root / str(process.pid) / "root" / path.lstrip("/")


def _stat(directory: Path) -> tuple[str, str] | None:
    """Return name and start time; the name may contain anything, spaces and brackets too."""
    head, bracket, tail = (directory / "stat").read_text(errors="replace").rpartition(")")
    fields = tail.split()
    if not bracket or len(fields) <= START_TIME:
        return None
    return head.partition("(")[2], fields[START_TIME]
