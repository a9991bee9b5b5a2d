"""What changes while a window is open: watches of its own, and wake-ups by way of Redis.

The mirror takes tens of milliseconds to write what it sees, more on a busy database; a claim
that waits for devices need not wait for that. So the window watches claims, and the pods that
name the console as their scheduler, from where the mirror's rows ended. Each source has a
thread that waits for it and hands over; the window itself is one thread.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, TypeAlias

from redis import RedisError

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind
from dra_console.kube.listwatch import Watch, WatchEvent, WatchEventType, open_watch
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.wakes import Wake
from dra_console.scheduling.names import SCHEDULER_NAME

POLL_SECONDS: Final = 1
"""How soon a source's thread notices that the window is over."""


class FeedEndedError(Exception):
    """A source has nothing more to say; the next window begins anew."""


Change: TypeAlias = tuple[Kind, WatchEventType, JsonObject] | Wake
"""What was seen of one object, or which rows of the mirror may have changed."""


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

    def follow(self, kind: Kind, stream: Watch) -> None:
        """Hand over what a watch says, until the feed is closed; the body of a thread."""
        self._hand_over(lambda: _changes_in(kind, stream))

    def listen(self, cluster_id: int) -> None:
        """Hand over wake-ups likewise."""
        self._hand_over(lambda: wakes.take(cluster_id, timeout_seconds=POLL_SECONDS))

    def close(self) -> None:
        """End all threads, within `POLL_SECONDS`."""
        self._closed.set()

    def _hand_over(self, read: Callable[[], Sequence[Change]]) -> None:
        while not self._closed.is_set():
            try:
                changes = read()
            except (ApiError, RedisError, FeedEndedError) as error:
                self._changes.put(FeedEndedError(str(error)))
                return
            if changes:
                self._changes.put(changes)


@contextmanager
def open_feed(
    client: Client,
    cluster_id: int,
    *,
    claims_version: str,
    pods_version: str,
    window_seconds: int,
) -> Iterator[Feed]:
    """Follow claims and pods from these versions on, and wake-ups, for the block.

    Raises:
        ExpiredError: a version is too old by now, or newer than the server.
        ApiError: the API server refused.

    """
    with ExitStack() as stack:
        claims = stack.enter_context(
            open_watch(
                client,
                RESOURCE_CLAIMS,
                resource_version=claims_version,
                window_seconds=window_seconds,
            )
        )
        pods = stack.enter_context(
            open_watch(
                client,
                PODS,
                resource_version=pods_version,
                window_seconds=window_seconds,
                field_selector=f"spec.schedulerName={SCHEDULER_NAME}",
            )
        )
        feed = Feed()
        threads = [
            threading.Thread(target=act, args=args, name=f"allocation {name}", daemon=True)
            for name, act, args in (
                ("claims", feed.follow, (RESOURCE_CLAIMS, claims)),
                ("pods", feed.follow, (PODS, pods)),
                ("wake-ups", feed.listen, (cluster_id,)),
            )
        ]
        for thread in threads:
            thread.start()
        try:
            yield feed
        finally:
            feed.close()
            for thread in threads:
                thread.join()


def _changes_in(kind: Kind, stream: Watch) -> Sequence[Change]:
    events: list[WatchEvent] = stream.read(timeout_seconds=POLL_SECONDS)
    if not events and stream.at_end:
        raise FeedEndedError(f"the API server ended the watch of {kind.plural}")
    return [
        (kind, event.type, event.object)
        for event in events
        if event.type is not WatchEventType.BOOKMARK
    ]
