"""Watch: the event log as a stream of JSON lines.

With selectors an object may come into view or leave it without being created or deleted; the
watcher then sees ADDED and DELETED, as Kubernetes' watch cache does. Bookmarks tell a quiet
watcher how far the log has moved on, so that it can resume from there (KEP-956).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import Cause, GoneError, InvalidError, StatusError
from dra_console.devcluster.eventlog import Event, EventType, Subscription
from dra_console.devcluster.http_paths import Target
from dra_console.devcluster.http_read import OBJECT_FORMS, resource_version_of, selector_of
from dra_console.devcluster.http_request import Request
from dra_console.devcluster.http_response import Form, Stream, accepted_form
from dra_console.devcluster.metadata import now
from dra_console.devcluster.selectors import Selector
from dra_console.devcluster.store import Store
from dra_console.devcluster.stored import Stored
from dra_console.devcluster.tables import table
from dra_console.kube.kinds import Kind

BOOKMARK_SECONDS: Final = 10
DEFAULT_WINDOW_SECONDS: Final = 1800
"""Kubernetes picks a time between this and twice this."""


@dataclass(frozen=True, slots=True)
class View:
    """What a watcher wants to see, and how it is written."""

    kind: Kind
    namespace: str | None
    selector: Selector
    form: Form
    include: str

    def shows(self, stored: Stored | None) -> bool:
        """Whether an object is in view."""
        return (
            stored is not None
            and (self.namespace is None or stored.namespace == self.namespace)
            and self.selector.matches(stored.value)
        )

    def line(self, event: Event) -> bytes | None:
        """Write an event as this watcher sees it; `None` for one that it does not."""
        is_shown = event.type is not EventType.DELETED and self.shows(event.stored)
        was_shown = self.shows(event.previous)
        if is_shown:
            word = EventType.MODIFIED if was_shown else EventType.ADDED
            return self.written(word, event.stored.value, event.stored.raw)
        if not was_shown:
            return None
        if event.type is EventType.DELETED:
            return self.written(EventType.DELETED, event.stored.value, event.stored.raw)
        return self._left_view(event)

    def written(self, word: str, value: JsonObject, raw: bytes) -> bytes:
        """Write one line."""
        if self.form is Form.TABLE:
            rows = table(self.kind, (value,), metadata={}, include=self.include, now=now())
            raw = orjson.dumps(rows)
        return b'{"type":"' + word.encode() + b'","object":' + raw + b"}\n"

    def bookmark(self, resource_version: int) -> bytes:
        """Write a bookmark."""
        value: JsonObject = {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"resourceVersion": str(resource_version), "creationTimestamp": None},
        }
        return b'{"type":"BOOKMARK","object":' + orjson.dumps(value) + b"}\n"

    def _left_view(self, event: Event) -> bytes | None:
        if event.previous is None:
            return None
        value = event.previous.copy()
        metadata = value["metadata"]
        if isinstance(metadata, dict):
            metadata["resourceVersion"] = str(event.stored.resource_version)
        return self.written(EventType.DELETED, value, orjson.dumps(value))


@dataclass(frozen=True, slots=True)
class Window:
    """How long a watch lasts and whether it wants bookmarks."""

    seconds: int
    sends_bookmarks: bool


def watch_objects(store: Store, target: Target, request: Request) -> Stream:
    """Answer a watch.

    Raises:
        BadRequestError: a parameter that cannot be read.
        InvalidError: `sendInitialEvents`, which this server does not offer.

    """
    if "sendInitialEvents" in request.query:
        message = (
            "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature"
            " gate is enabled"
        )
        cause = Cause("sendInitialEvents", "FieldValueForbidden", message)
        raise InvalidError(f"sendInitialEvents: {message}", causes=(cause,))
    view = View(
        kind=target.kind,
        namespace=target.namespace,
        selector=selector_of(target, request),
        form=accepted_form(request.header("accept"), offered=OBJECT_FORMS),
        include=request.query.get("includeObject", "") or "Metadata",
    )
    since = resource_version_of(request)
    window = Window(
        seconds=request.number("timeoutSeconds") or DEFAULT_WINDOW_SECONDS,
        sends_bookmarks=request.flag("allowWatchBookmarks"),
    )
    first: list[bytes] = []
    if not since:
        since = store.resource_version
        first = list(_current(store, view))
    try:
        subscription = store.watch(target.kind, since=since)
    except GoneError as error:
        # As the API server does: the answer is a stream already when it finds out.
        return Stream(_only(error_line(error)))
    return Stream(_lines(subscription, view, first=first, window=window))


async def _only(line: bytes) -> AsyncIterator[bytes]:
    yield line


def _current(store: Store, view: View) -> Iterator[bytes]:
    for stored in store.at(store.resource_version, view.kind, namespace=view.namespace):
        if view.shows(stored):
            yield view.written(EventType.ADDED, stored.value, stored.raw)


async def _lines(
    subscription: Subscription,
    view: View,
    *,
    first: list[bytes],
    window: Window,
) -> AsyncIterator[bytes]:
    clock = asyncio.get_running_loop().time
    end = clock() + window.seconds
    next_bookmark = clock() + BOOKMARK_SECONDS
    # The empty chunk makes the response begin, so that a client knows that its watch is on.
    yield b"".join(first)
    try:
        while clock() < end:
            wait_seconds = min(end, next_bookmark) - clock()
            events = await subscription.next(timeout_seconds=max(wait_seconds, 0))
            lines = b"".join(line for event in events if (line := view.line(event)))
            if lines:
                yield lines
            if window.sends_bookmarks and clock() >= min(end, next_bookmark):
                yield view.bookmark(subscription.resource_version)
            if clock() >= next_bookmark:
                next_bookmark = clock() + BOOKMARK_SECONDS
    except GoneError as error:
        yield error_line(error)


def error_line(error: StatusError) -> bytes:
    """Write the line that ends a watch which failed."""
    return b'{"type":"ERROR","object":' + orjson.dumps(error.to_json()) + b"}\n"
