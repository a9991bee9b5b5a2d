"""Looks after our place in kubelet's registry: our sockets, our peers, and whether we are known.

A socket file that vanishes deregisters us without a word, so the agent ends and its pod is
started again. A peer that comes or goes is a rolling update: kubelet then forgets the driver's
health, so it is said again (node-agent.md 1.6, 8: fault 41).
"""

import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from nodeagent.kubelet.registration import Registration
from nodeagent.kubelet.server import Servers

log = structlog.get_logger()

LOOK_SECONDS: Final = 1.0
REPEATS: Final = 3
"""Kubelet drops a peer's stream some time after the peer's socket has gone."""

HINT_SECONDS: Final = 60.0
HINTS: Final = (
    "is --kubelet-root kubelet's own root directory, mounted here under the same path?",
    "does this kubelet have dynamic resource allocation (1.32 or later, feature gate on)?",
    "does another plugin of the same driver name run on this node?",
)

Peers: TypeAlias = frozenset[tuple[str, int]]
"""Names and inodes of the other sockets in the registry."""


@dataclass(slots=True)
class RegistryWatch:
    """Looks once a second, on a thread of its own."""

    servers: Servers
    registration: Registration
    on_peers: Callable[[], None]
    """Called for some seconds after other sockets have come or gone."""

    monotonic: Callable[[], float] = time.monotonic
    _peers: Peers | None = field(default=None, init=False)
    _repeats_left: int = field(default=REPEATS, init=False)
    """At the start, too: a predecessor may have gone before the first look."""

    _hint_due: float = field(init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        self._hint_due = self.monotonic() + HINT_SECONDS

    def run(self) -> None:
        """Look until stopped.

        Raises:
            KubeletError: a socket is not ours any more, or a server has ended.

        """
        while not self._stopping.wait(LOOK_SECONDS):
            self.look()

    def stop(self) -> None:
        """End the thread at its next turn; the sockets may go now."""
        self._stopping.set()

    def look(self) -> None:
        """Look once.

        Raises:
            KubeletError: a socket is not ours any more, or a server has ended.

        """
        self.servers.check(is_stopping=self._stopping.is_set)
        self._look_at_peers()
        if self.registration.is_registered.is_set():
            self._hint_due = self.monotonic() + HINT_SECONDS
        elif self.monotonic() >= self._hint_due:
            log.warning("not registered with kubelet", ask=HINTS)
            self._hint_due = self.monotonic() + HINT_SECONDS

    def _look_at_peers(self) -> None:
        own = self.servers.paths.registration
        peers = _sockets(own.parent) - _sockets_named(own)
        if self._peers is not None and peers != self._peers:
            log.info("other plugins came or went", sockets=sorted(name for name, _ in peers))
            self._repeats_left = REPEATS
        self._peers = peers
        if self._repeats_left:
            self._repeats_left -= 1
            self.on_peers()


def _sockets(directory: Path) -> Peers:
    return frozenset().union(*(_sockets_named(path) for path in directory.iterdir()))


def _sockets_named(path: Path) -> Peers:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return frozenset()
    return frozenset({(path.name, found.st_ino)}) if stat.S_ISSOCK(found.st_mode) else frozenset()
