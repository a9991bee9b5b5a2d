"""Follow one kind of one cluster for one window: list if need be, then watch.

A window begins at the stored cursor and ends by itself, so no task runs for ever and a
worker can be stopped, replaced or killed at any moment: the next window goes on where the
last transaction left off. It looks at least every `POLL_SECONDS` whether it must end.

Events are gathered before they are written, since a transaction for each is several times
slower. A batch is closed as soon as the stream pauses, so a single event is not held back;
under load it closes after `BATCH_EVENTS` or `BATCH_SECONDS`.
"""

import time
from contextlib import suppress
from enum import Enum, auto
from http import HTTPStatus
from math import ceil
from typing import Final

import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ExpiredError, ForbiddenError, NotFoundError
from dra_console.kube.listwatch import Watch, WatchEvent, WatchEventType, open_watch
from dra_console.mirror.clock import database_now
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cursor
from dra_console.returned_memory import returned_memory
from dra_console.sync.cursors import make_cursors, note_contact
from dra_console.sync.errors import CursorMovedError, NotOurTurnError
from dra_console.sync.listing import list_all
from dra_console.sync.objects import ObjectKey
from dra_console.sync.page_cache import roomy_page_cache
from dra_console.sync.reading import text_in
from dra_console.sync.reconcile import apply, distrust
from dra_console.sync.window import Window

log = structlog.get_logger()

BATCH_EVENTS: Final = 200
BATCH_SECONDS: Final = 0.2
PAUSE_SECONDS: Final = 0.01
"""A stream that is silent for this long has paused; or for as long as the last batch took."""

POLL_SECONDS: Final = 1.0
SHORTEST_WATCH_SECONDS: Final = 5.0
"""A server that ends watches sooner than this is not asked again at once."""

ERROR_LENGTH: Final = 2000


class Ended(Enum):
    """Why a window ended."""

    OVER = auto()
    """Its time was up; the next may begin at once."""

    CALLED_OFF = auto()
    """The worker stops, somebody else follows the kind, or nobody should."""

    FAILED = auto()
    """The cursor's `error` says how; the next begins with the next beat."""


def follow(window: Window) -> Ended:
    """Mirror the window's kind until the window ends; failures are noted on the cursor."""
    try:
        make_cursors(window.cluster)
        client = client_of(window.cluster)
        while window.seconds_left > 0:
            window.check()
            _list_or_watch(window, client=client)
    except NotOurTurnError as reason:
        log.info("window called off", **window.facts, reason=str(reason))
        return Ended.CALLED_OFF
    except ApiError as error:
        log.warning("window failed", **window.facts, reason=str(error))
        with suppress(NotOurTurnError):
            _note_failure(window, error)
        return Ended.FAILED
    except (OperationalError, InterfaceError, InternalError) as error:
        # The database is away, or threw us out: a deadlock, a lock held too long, a restart.
        # What it had not committed will be read again.
        log.warning("window failed", **window.facts, reason=f"database: {error}")
        connection.close()
        return Ended.FAILED
    return Ended.OVER


def _list_or_watch(window: Window, *, client: Client) -> None:
    cursor = Cursor.objects.filter(cluster=window.cluster, plural=window.kind.plural).first()
    if cursor is None:
        raise NotOurTurnError(f"cluster {window.cluster.name} was removed")
    try:
        if cursor.resource_version:
            _watch(window, client=client, resource_version=cursor.resource_version)
        else:
            with returned_memory(), roomy_page_cache():
                list_all(window, client=client)
    except CursorMovedError as error:
        log.info("cursor moved", **window.facts, reason=str(error))
    except ExpiredError as error:
        log.info("version expired", **window.facts, reason=str(error))
        with window.writing() as expired:
            expired.resource_version = ""
            if error.status != HTTPStatus.GONE:
                # The server was set back: a version that it gives out again may be another
                # object than the one that is mirrored in that version.
                distrust(window.cluster, kind=window.kind)
        window.note_expiry()


def _watch(window: Window, *, client: Client, resource_version: str) -> None:
    began_at = time.monotonic()
    pause_seconds = PAUSE_SECONDS
    with open_watch(
        client,
        window.kind,
        resource_version=resource_version,
        window_seconds=max(1, ceil(window.seconds_left)),
    ) as stream:
        if not window.confirm_cluster(client):
            return
        with window.writing(expects=resource_version) as cursor:
            note_contact(cursor, resource_version=resource_version)
        while not stream.at_end and window.seconds_left > 0:
            window.check()
            if events := _gather(stream, pause_seconds=pause_seconds):
                flushed_at = time.monotonic()
                _flush(window, events, after=resource_version)
                resource_version = events[-1].resource_version
                took_seconds = time.monotonic() - flushed_at
                pause_seconds = min(max(took_seconds, PAUSE_SECONDS), BATCH_SECONDS)
    if window.seconds_left > 0 and time.monotonic() - began_at < SHORTEST_WATCH_SECONDS:
        raise ApiError("the API server ended the watch as soon as it had begun")


def _gather(stream: Watch, *, pause_seconds: float) -> list[WatchEvent]:
    """Return the next batch; empty if nothing came within `POLL_SECONDS`.

    Where writing takes long, more to write is waited for as long: events that come one by one
    cannot outrun it then, and half of the time is left to others. May exceed `BATCH_EVENTS` by
    what one read of the stream held.
    """
    events = stream.read(timeout_seconds=POLL_SECONDS)
    closes_at = time.monotonic() + BATCH_SECONDS
    while events and len(events) < BATCH_EVENTS and time.monotonic() < closes_at:
        try:
            more = stream.read(timeout_seconds=pause_seconds)
        except ApiError:
            # Raised again by the next read; what came before it is written first.
            break
        if not more:
            break
        events += more
    return events


def _flush(window: Window, events: list[WatchEvent], *, after: str) -> None:
    """Write a batch that follows version `after`, and its cursor, in one transaction."""
    present: dict[ObjectKey, JsonObject] = {}
    gone: set[ObjectKey] = set()
    for event in events:
        key = _key_of(event.object)
        if event.type is WatchEventType.DELETED:
            present.pop(key, None)
            gone.add(key)
        elif event.type is not WatchEventType.BOOKMARK:
            present[key] = event.object
            gone.discard(key)
    with window.writing(expects=after) as cursor:
        if present or gone:
            now = database_now()
            apply(
                window.cluster, kind=window.kind, objects=present.values(), gone=gone, seen_at=now
            )
            cursor.last_event_at = now
        note_contact(cursor, resource_version=events[-1].resource_version)


def _note_failure(window: Window, error: ApiError) -> None:
    """Show the failure; a kind that is not served or not ours to read is listed anew later."""
    with window.writing() as cursor:
        cursor.error = str(error)[:ERROR_LENGTH]
        cursor.error_status = error.status
        if error.status:
            cursor.last_contact_at = database_now()
        if isinstance(error, ForbiddenError | NotFoundError):
            cursor.served = False
            cursor.resource_version = ""
        else:
            cursor.failures += 1


def _key_of(subject: JsonObject) -> ObjectKey:
    return ObjectKey(
        text_in(subject, "metadata", "namespace"), text_in(subject, "metadata", "name")
    )
