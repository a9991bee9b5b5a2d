"""Follow what happens to all objects of a kind, from a resource version on.

Two ways of reading one stream: `watch` for whoever has nothing else to do, and `Watch` for
whoever must also flush, renew or stop in time. A blocking read from a socket cannot be
given up and taken up again (Python refuses to read on after a time-out), so a thread reads
and a short queue hands over. When the reader of the queue is slow, the queue fills, the
thread waits, and TCP makes the API server wait; nothing is dropped.
"""

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import urllib3

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, error_of
from dra_console.kube.kinds import Kind
from dra_console.kube.shapes import read_as_v1
from dra_console.kube.transport import Request, decode_object

READ_BYTES: Final = 65536
QUEUED_READS: Final = 64
"""At most this many reads wait, 4 MiB; then the API server waits."""

SILENCE_SECONDS: Final = 15
"""How long after the window's end the server may stay silent before the watch is broken."""


LONGEST_LINE_BYTES: Final = 32 * 2**20
"""Several times what an API server stores of one object; more is no event."""


class WatchEventType(StrEnum):
    """What happened; `ERROR` never leaves this module, it is raised."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


EVENT_TYPES: Final[Mapping[str, WatchEventType]] = MappingProxyType(
    {str(each): each for each in WatchEventType}
)


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event: the object after it, or as it last was if it was deleted."""

    type: WatchEventType
    object: JsonObject

    resource_version: str
    """Where the stream stands after this event; watch from here to go on."""


class Watch:
    """An open watch, read in time-limited steps. Made by `open_watch`."""

    def __init__(self, response: urllib3.BaseHTTPResponse, *, served: Kind) -> None:
        """Begin to read `response`, whose body must not have been touched."""
        self._response = response
        self._served = served
        self._reads: queue.Queue[bytes | ApiError] = queue.Queue(maxsize=QUEUED_READS)
        self._closed = threading.Event()
        self._unfinished_line = b""
        self._at_end = False
        self._failure: ApiError | None = None
        self._thread = threading.Thread(target=self._read_all, name="watch", daemon=True)
        self._thread.start()

    @property
    def at_end(self) -> bool:
        """Tell whether the server ended the stream and all of it has been read."""
        return self._at_end and self._failure is None

    def read(self, *, timeout_seconds: float) -> list[WatchEvent]:
        """Return the events that came, waiting for the first; none if none came in time.

        Events that came before a failure are returned first; the failure is raised then, and
        from then on.

        Raises:
            ExpiredError: the resource version is too old; list again.
            ApiError: the connection broke, or the server ended the stream with an error.

        """
        if self._failure is not None:
            raise self._failure
        if self._at_end:
            return []
        try:
            read = self._reads.get(timeout=timeout_seconds)
        except queue.Empty:
            return []
        events: list[WatchEvent] = []
        try:
            for line in self._lines_of(read):
                events.append(_event(line, served=self._served))  # noqa: PERF401 - a failure leaves those before it
        except ApiError as error:
            self._failure = error
            if not events:
                raise
        return events

    def _lines_of(self, read: bytes | ApiError) -> list[bytes]:
        if isinstance(read, ApiError):
            raise read
        self._at_end = not read
        *lines, self._unfinished_line = (self._unfinished_line + read).split(b"\n")
        if len(self._unfinished_line) > LONGEST_LINE_BYTES:
            raise ApiError(f"expected a watch event, got {len(self._unfinished_line)} bytes of one")
        if self._at_end and self._unfinished_line.strip():
            # A server that was cut off, or somebody else who answers with a page of text.
            lines.append(self._unfinished_line)
        return [line for line in lines if line.strip()]

    def close(self) -> None:
        """Stop reading and close the connection; events not yet read are lost."""
        self._closed.set()
        # Wakes the thread out of a read that may last for the whole window. At the stream's
        # end there is no such read, and the connection is back in its pool.
        with suppress(RuntimeError, OSError):
            self._response.shutdown()
        self._thread.join()
        self._response.close()

    def _read_all(self) -> None:
        try:
            while not self._closed.is_set():
                read = self._response.read1(READ_BYTES)
                self._hand_over(read)
                if not read:
                    return
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            # ValueError: `close` took the TLS layer away between two reads.
            self._hand_over(ApiError(f"the watch broke: {error}"))

    def _hand_over(self, read: bytes | ApiError) -> None:
        while not self._closed.is_set():
            try:
                self._reads.put(read, timeout=1)
            except queue.Full:
                continue
            return


@contextmanager
def open_watch(
    client: Client,
    kind: Kind,
    *,
    resource_version: str,
    window_seconds: int,
    field_selector: str = "",
) -> Iterator[Watch]:
    """Watch the objects of a kind for the block; the server ends it after the window.

    Raises:
        ExpiredError: the resource version is too old, or newer than the server; list again.

    """
    _confirm_known(client, kind, resource_version=resource_version)
    query = {
        "watch": "true",
        "resourceVersion": resource_version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(window_seconds),
    }
    if field_selector:
        query["fieldSelector"] = field_selector
    response, served = client.session.stream(
        kind, query, silence_seconds=window_seconds + SILENCE_SECONDS
    )
    stream = Watch(response, served=served)
    try:
        yield stream
    finally:
        stream.close()


def _confirm_known(client: Client, kind: Kind, *, resource_version: str) -> None:
    """Ask that the server has been at this version, with a list of one object.

    A server that was set back (etcd restored from a backup) lets watches begin in its future
    and then says nothing at all, no bookmark either, until it gets there: the mirror would
    stand still and look healthy. Lists refuse such a version (tried on Kubernetes 1.37).
    """
    query = {
        "limit": "1",
        "resourceVersion": resource_version,
        "resourceVersionMatch": "NotOlderThan",
    }
    client.session.fetch(
        kind,
        lambda served: Request("GET", served.path(), query=query, repeats_harmlessly=True),
    )


def watch(
    client: Client, kind: Kind, *, resource_version: str, window_seconds: int
) -> Iterator[WatchEvent]:
    """Yield each event, bookmarks included, until the window is over or the server ends it.

    Raises:
        ExpiredError: the resource version is too old; list again.
        ApiError: the connection broke; watch again from the last event.

    """
    ends_at = time.monotonic() + window_seconds
    with open_watch(
        client, kind, resource_version=resource_version, window_seconds=window_seconds
    ) as stream:
        while not stream.at_end and (left_seconds := ends_at - time.monotonic()) > 0:
            yield from stream.read(timeout_seconds=left_seconds)


def _event(line: bytes, *, served: Kind) -> WatchEvent:
    envelope = decode_object(line)
    happened, subject = envelope.get("type"), envelope.get("object")
    if happened == "ERROR":
        raise error_of(0, subject)
    event_type = EVENT_TYPES.get(happened) if isinstance(happened, str) else None
    if event_type is None or not isinstance(subject, dict):
        raise ApiError(f"expected a watch event with type and object, got {line[:80]!r}")
    metadata = subject.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not isinstance(version, str):
        raise ApiError(f"object.metadata.resourceVersion: expected text, got {version!r}")
    return WatchEvent(event_type, read_as_v1(subject, served=served), version)
