"""The two gRPC servers on their unix sockets, bound and released in an order that matters.

The registration socket is what makes kubelet call, so it appears last and only when the DRA
service answers; it goes first, because its removal tells kubelet to stop. What is running then
may finish (node-agent.md 0.6, 1.7). No slice and no CDI file is touched: pods keep running.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
import structlog

from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.health import MOST_STREAMS
from nodeagent.kubelet.sockets import MODE, SocketPaths
from nodeagent.kubelet.stale_sockets import remove_stale

log = structlog.get_logger()

REGISTRATION_THREADS: Final = 2
DRA_THREADS: Final = 16 + MOST_STREAMS
GRACE_SECONDS: Final = 30
"""How long running calls may finish; kubelet waits 45 s for each."""


@dataclass(slots=True)
class Servers:
    """Both servers of one driver."""

    paths: SocketPaths
    registration: "grpc.GenericRpcHandler[Any, Any]"
    dra: "tuple[grpc.GenericRpcHandler[Any, Any], ...]"
    _running: dict[Path, grpc.Server] = field(default_factory=dict, init=False)
    _files: dict[Path, tuple[int, int]] = field(default_factory=dict, init=False)
    """Device and inode of each socket file that we made."""

    def start(self) -> None:
        """Serve.

        Raises:
            KubeletError: a socket cannot be bound; none is left behind.

        """
        registry = self.paths.registration.parent
        if not registry.is_dir():
            raise KubeletError(
                f"kubelet's registry directory {registry} is not there: is --kubelet-root right?"
            )
        for path in (self.paths.registration, self.paths.dra):
            remove_stale(path)
        try:
            self._serve(self.paths.dra, self.dra, threads=DRA_THREADS)
            self._serve(self.paths.registration, (self.registration,), threads=REGISTRATION_THREADS)
        except (OSError, RuntimeError) as error:
            self.stop()
            raise KubeletError(f"sockets of the plugin: {error}") from error
        log.info(
            "sockets bound", dra=str(self.paths.dra), registration=str(self.paths.registration)
        )

    def stop(self) -> None:
        """Take no new calls, let the running ones finish, and remove our socket files."""
        self._unlink(self.paths.registration)
        stopping = [server.stop(GRACE_SECONDS) for server in self._running.values()]
        for stopped in stopping:
            stopped.wait()
        self._unlink(self.paths.dra)
        self._running.clear()

    def check(self, *, is_stopping: Callable[[], bool]) -> None:
        """See that kubelet can still reach us.

        Raises:
            KubeletError: a socket file has gone or was replaced, or a server has ended.

        """
        for path, server in tuple(self._running.items()):
            # It tells of a time-out, which is what a server that runs gives.
            is_running = server.wait_for_termination(timeout=0)
            is_ours = _identity(path) == self._files.get(path)
            if not (is_running and is_ours) and not is_stopping():
                wrong = "is not ours any more" if is_running else "has lost its server"
                raise KubeletError(f"socket {path} {wrong}: kubelet cannot reach this agent")

    def _unlink(self, path: Path) -> None:
        if self._files.pop(path, None) is not None:
            path.unlink(missing_ok=True)

    def _serve(
        self, path: Path, handlers: "Iterable[grpc.GenericRpcHandler[Any, Any]]", *, threads: int
    ) -> None:
        server = grpc.server(ThreadPoolExecutor(threads, thread_name_prefix=path.stem))
        server.add_generic_rpc_handlers(tuple(handlers))
        server.add_insecure_port(f"unix:{path}")
        # Kubelet may dial as soon as the file is there.
        server.start()
        self._running[path] = server
        path.chmod(MODE)
        found = _identity(path)
        if found is not None:
            self._files[path] = found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
