"""The checkpoint on disk, and the one way to change it.

Whoever changes something holds the node's lock from reading to writing. Each write is durable
before `put` returns; the file before it stays as `checkpoint.json.prev`. What others need to know
while a change runs (the simulation, the live link) they read from `entries`, which is replaced
after each write and never blocks.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.claims.checkpoint import Checkpoint, decode, encode
from nodeagent.claims.entry import Entry
from nodeagent.claims.errors import CorruptCheckpointError, LockTimeoutError, NewerCheckpointError
from nodeagent.claims.lock import locked
from nodeagent.claims.metrics import LOCK_TIMEOUTS, LOCK_WAIT_SECONDS, count_entries
from nodeagent.durable import sync_directory, write_durably

log = structlog.get_logger()

LOCK_SECONDS: Final = 10
"""How long one claim waits for the lock; kubelet gives a whole call 45 s (node-agent.md 2.2)."""

FILE_MODE: Final = 0o600


class Ledger:
    """One node's checkpoint. Safe between threads and processes."""

    def __init__(self, directory: Path, *, boot_id: str) -> None:
        self.boot_id = boot_id
        self._path = directory / "checkpoint.json"
        self._previous = directory / "checkpoint.json.prev"
        self._lock = directory / "serialize.lock"
        self._listeners: list[Callable[[], None]] = []
        self._entries: Mapping[str, Entry] = MappingProxyType({})
        self._cached: tuple[tuple[int, int, int], Checkpoint] | None = None
        self._holder: int | None = None
        self._turn = threading.Lock()

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All entries by claim UID, as of the last read or write of this process."""
        return self._entries

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called, on the changing thread, after each write."""
        self._listeners.append(listener)

    @contextmanager
    def held(self) -> Iterator[Checkpoint]:
        """Take the node's lock and read the checkpoint.

        Raises:
            LockTimeoutError: another call did not give the lock back in time.
            CorruptCheckpointError: the file cannot be trusted.
            OSError: the disk refused.

        """
        with self.held_unread():
            yield self.read()

    @contextmanager
    def held_unread(self) -> Iterator[None]:
        """Take the node's lock and leave it to the caller to look at the file.

        Raises:
            LockTimeoutError: another call did not give the lock back in time.

        """
        with self._taken():
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    @contextmanager
    def _taken(self) -> Iterator[None]:
        began = time.monotonic()
        with ExitStack() as taken:
            try:
                taken.enter_context(self._own_turn())
                left = max(0.0, began + LOCK_SECONDS - time.monotonic())
                taken.enter_context(locked(self._lock, within_seconds=left))
            except LockTimeoutError:
                LOCK_TIMEOUTS.inc()
                raise
            LOCK_WAIT_SECONDS.observe(time.monotonic() - began)
            yield

    @contextmanager
    def _own_turn(self) -> Iterator[None]:
        """Queue with this process's own threads, since polling for a file is not fair to them."""
        if not self._turn.acquire(timeout=LOCK_SECONDS):
            raise LockTimeoutError("busy with other claims for too long: ask again")
        try:
            yield
        finally:
            self._turn.release()

    def look_again(self) -> None:
        """Take over what another agent on this node has written, for whoever reads `entries`.

        Costs one `stat` where nobody has. What cannot be read now is looked at the next time.
        """
        try:
            if self._cached is None or self._cached[0] == self._stamp():
                return
            with self.held():
                pass
        except (CorruptCheckpointError, LockTimeoutError, OSError) as error:
            log.info("checkpoint not looked at", reason=str(error))
            return
        for listener in self._listeners:
            listener()

    @property
    def exists(self) -> bool:
        """There is a checkpoint, good or bad."""
        return self._path.exists()

    def put(self, entry: Entry) -> None:
        """Write one entry. The lock must be held.

        Raises:
            NewerCheckpointError: a newer agent owns the file.
            OSError: the disk refused; the entry is as it was.

        """
        self.replace(self.read().with_entry(entry))

    def drop(self, claim_uid: str) -> None:
        """Forget a claim. The lock must be held.

        Raises:
            NewerCheckpointError: a newer agent owns the file.
            OSError: the disk refused; the entry is as it was.

        """
        self.replace(self.read().without(claim_uid))

    def replace(self, checkpoint: Checkpoint) -> None:
        """Write a whole checkpoint. The lock must be held.

        Raises:
            NewerCheckpointError: a newer agent owns the file.
            OSError: the disk refused; the file is as it was.

        """
        if self._holder != threading.get_ident():
            raise RuntimeError("the checkpoint is changed without the node's lock")
        if checkpoint.is_read_only:
            raise NewerCheckpointError("a newer agent wrote the checkpoint: only it may change it")
        kept = checkpoint.without_old_tombstones(datetime.now(UTC))
        self._keep_previous()
        write_durably(self._path, encode(kept), mode=FILE_MODE)
        self._remember(kept)
        for listener in self._listeners:
            listener()

    def set_aside(self, *, at: datetime) -> Path:
        """Move an untrustworthy file out of the way and return where it is now. Hold the lock."""
        corrupt = self._path.with_name(f"{self._path.name}.corrupt-{at:%Y%m%dT%H%M%SZ}")
        self._path.replace(corrupt)
        sync_directory(self._path.parent)
        self._cached = None
        return corrupt

    def previous(self) -> Checkpoint | None:
        """Return the checkpoint before the last write, if it is there and can be trusted."""
        try:
            return decode(self._previous.read_bytes())
        except (OSError, CorruptCheckpointError):
            return None

    def read(self) -> Checkpoint:
        """Return the checkpoint as it stands on disk; a fresh one where there is none.

        Raises:
            CorruptCheckpointError: the file cannot be trusted.
            OSError: the disk refused.

        """
        try:
            stamp = self._stamp()
            if self._cached is not None and self._cached[0] == stamp:
                return self._cached[1]
            checkpoint = decode(self._path.read_bytes())
        except FileNotFoundError:
            return Checkpoint(boot_id=self.boot_id)
        self._remember(checkpoint)
        if checkpoint.unreadable:
            log.warning("checkpoint entries set aside", claims=sorted(checkpoint.unreadable))
        return checkpoint

    def _remember(self, checkpoint: Checkpoint) -> None:
        self._cached = (self._stamp(), checkpoint)
        self._entries = checkpoint.entries
        count_entries(checkpoint.entries.values(), unreadable=len(checkpoint.unreadable))

    def _stamp(self) -> tuple[int, int, int]:
        seen = self._path.stat()
        return (seen.st_mtime_ns, seen.st_ino, seen.st_size)

    def _keep_previous(self) -> None:
        """Give the present file a second name; there is no moment without a `checkpoint.json`."""
        link = self._previous.with_name(f".{self._previous.name}.tmp")
        link.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            os.link(self._path, link)
            link.replace(self._previous)
