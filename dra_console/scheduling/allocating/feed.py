"""What changes while a window is open: watches of its own, and wake-ups by way of Redis.

The mirror takes tens of milliseconds to write what it sees, more on a busy database; a claim
that waits for devices need not wait for that. So the window watches claims, and the pods that
name the console as their scheduler, from where the mirror's rows ended. Each source has a
thread that waits for it and hands over; the window itself is one thread.
"""

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from redis import RedisError

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ExpiredError
from dra_console.kube.kinds import Kind
from dra_console.kube.listwatch import Watch, WatchEvent, WatchEventType, open_watch
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.wakes import Wake

POLL_SECONDS: Final = 0.1
"""How soon a source's thread notices that the window is over; the next one waits for that."""

SHORTEST_WATCH_SECONDS: Final = 1.0
SHORT_WATCHES: Final = 5
"""A busy server may end some sooner than this; one that ends more in a row is not asked again."""

FIRST_PAUSE_SECONDS: Final = 0.05


class FeedEndedError(Exception):
    """A source has nothing more to say; the next window begins anew."""


class FeedExpiredError(FeedEndedError):
    """A watch would begin where the API server no longer remembers; its kind is to be listed."""


Change: TypeAlias = tuple[Kind, WatchEventType, JsonObject] | Wake
"""What was seen of one object, or which rows of the mirror may have changed."""


@dataclass(frozen=True, slots=True)
class Source:
    """Objects of a kind, and the version from which to watch them on."""

    client: Client
    kind: Kind
    resource_version: str
    window_seconds: int
    field_selector: str = ""

    def opened(self, resource_version: str) -> AbstractContextManager[Watch]:
        """Open a watch from another version on.

        Raises:
            ExpiredError: the version is too old by now, or newer than the server.
            ApiError: the API server refused.

        """
        return open_watch(
            self.client,
            self.kind,
            resource_version=resource_version,
            window_seconds=self.window_seconds,
            field_selector=self.field_selector,
        )


class Feed:
    """Made by `open_feed`."""

    def __init__(self) -> None:
        """Begin without any source."""
        self._changes: Final[queue.SimpleQueue[Sequence[Change] | FeedEndedError]] = (
            queue.SimpleQueue()
        )
        self._closed: Final = threading.Event()

    def wait(self, *, timeout_seconds: float) -> list[Change]:
        """Return all that has changed, waiting for the first; none if nothing did in time.

        Raises:
            FeedExpiredError: a version is too old by now.
            FeedEndedError: a source has ended.

        """
        changes: list[Change] = []
        try:
            item = self._changes.get(timeout=max(timeout_seconds, 0.0))
            while True:
                if isinstance(item, FeedEndedError):
                    raise item
                changes += item
                item = self._changes.get_nowait()
        except queue.Empty:
            return changes

    def follow(self, source: Source) -> None:
        """Hand over what a watch says, until the feed is closed; the body of a thread.

        API servers end a watch at any time, such as that of somebody who reads too slowly; it
        goes on from where it was.
        """
        version = source.resource_version
        ended_soon = 0
        try:
            while not self._closed.is_set():
                began_at = time.monotonic()
                version = self._watch(source, version)
                lasted = time.monotonic() - began_at
                ended_soon = 0 if lasted >= SHORTEST_WATCH_SECONDS else ended_soon + 1
                if ended_soon > SHORT_WATCHES:
                    self._end(FeedEndedError(f"watches of {source.kind.plural} end at once"))
                    return
                if ended_soon:
                    self._closed.wait(FIRST_PAUSE_SECONDS * 2**ended_soon)
        except ExpiredError as error:
            self._end(FeedExpiredError(str(error)))
        except ApiError as error:
            self._end(FeedEndedError(str(error)))

    def _watch(self, source: Source, version: str) -> str:
        """Watch until the server or the feed ends it; return the version to go on from."""
        with source.opened(version) as stream:
            while not (self._closed.is_set() or stream.at_end):
                if events := stream.read(timeout_seconds=POLL_SECONDS):
                    version = events[-1].resource_version
                    self._changes.put(_changes_in(source.kind, events))
        return version

    def _end(self, error: FeedEndedError) -> None:
        if not self._closed.is_set():
            self._changes.put(error)

    def listen(self, cluster_id: int) -> None:
        """Hand over wake-ups likewise."""
        try:
            while not self._closed.is_set():
                if said := wakes.take(cluster_id, timeout_seconds=POLL_SECONDS):
                    self._changes.put(said)
        except RedisError as error:
            self._end(FeedEndedError(str(error)))

    def close(self) -> None:
        """End all threads, within `POLL_SECONDS`."""
        self._closed.set()


@contextmanager
def open_feed(cluster_id: int, sources: Iterable[Source]) -> Iterator[Feed]:
    """Follow these sources, and wake-ups, for the block."""
    feed = Feed()
    threads = [
        threading.Thread(target=feed.follow, args=(source,), name="allocation watch", daemon=True)
        for source in sources
    ]
    listening = threading.Thread(
        target=feed.listen, args=(cluster_id,), name="allocation wake-ups", daemon=True
    )
    threads.append(listening)
    for thread in threads:
        thread.start()
    try:
        yield feed
    finally:
        feed.close()
        for thread in threads:
            thread.join()


def _changes_in(kind: Kind, events: Iterable[WatchEvent]) -> Sequence[Change]:
    return [
        (kind, event.type, event.object)
        for event in events
        if event.type is not WatchEventType.BOOKMARK
    ]
