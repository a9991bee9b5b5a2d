"""An allocation window: one cluster, allocated for by us for a bounded time under its lease.

It begins by reading everything and ends by itself, so no task runs for ever, and a worker can be
stopped, replaced or killed at any moment: the next window reads the world anew, notes of writes
included. In between the world stays in memory, so that a claim is planned within milliseconds.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection
from redis import RedisError

from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.leases import Lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.beginning import (
    SCHEDULED_BY_US,
    Begun,
    CalledOffError,
    NotMirroredError,
    begin,
)
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.feed import (
    Change,
    Feed,
    FeedEndedError,
    FeedExpiredError,
    Source,
    open_feed,
)
from dra_console.scheduling.allocating.upkeep import Upkeep
from dra_console.scheduling.allocating.wakes import ROOM, Wake
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing.sending import Writer

WINDOW_SECONDS: Final = 240
"""After so long a window ends with the next pause; what comes in a hand-over waits for it."""

PAUSE_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 600
"""Where there never is a pause."""

IDLE_SECONDS: Final = 20
"""A window in which nothing was tried for so long ends; the next change opens another."""

WATCH_SECONDS: Final = 90
"""Then a watch is opened anew: one that silently broke is not waited for longer."""

WRITING_THREADS: Final = 16

log = structlog.get_logger()


class Ended(Enum):
    """Why a window ended."""

    OVER = auto()
    """Its time was up; the next may begin at once."""

    IDLE = auto()
    """Nothing was to be done."""

    CALLED_OFF = auto()
    """The worker stops, somebody else has the lease, or nobody should allocate."""

    NOT_MIRRORED = auto()
    """Some kinds are not mirrored to the end, so nothing may be allocated yet."""

    FAILED = auto()
    """API server, database or Redis failed; the next begins with the next beat."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a window works on, and what ends it."""

    cluster: Cluster
    lease: Lease
    seconds: float = WINDOW_SECONDS
    idle_seconds: float = IDLE_SECONDS
    longest_seconds: float = LONGEST_SECONDS
    stopped: Callable[[], bool] = lambda: False
    """Tells that the worker wants to stop."""


def allocate(window: Window) -> tuple[Ended, Counts]:
    """Allocate for a cluster until the window ends."""
    counts = Counts()
    try:
        return _allocate(window, counts), counts
    except NotMirroredError as reason:
        log.info("allocation not begun", cluster=window.cluster.name, reason=str(reason))
        return Ended.NOT_MIRRORED, counts
    except (CalledOffError, TurnOverError) as reason:
        log.info("allocation called off", cluster=window.cluster.name, reason=str(reason))
        return Ended.CALLED_OFF, counts
    except (ApiError, RedisError, FeedEndedError) as error:
        log.warning("allocation failed", cluster=window.cluster.name, reason=str(error))
    except (OperationalError, InterfaceError, InternalError) as error:
        log.warning("allocation failed", cluster=window.cluster.name, reason=f"database: {error}")
        connection.close()
    return Ended.FAILED, counts


def _allocate(window: Window, counts: Counts) -> Ended:
    client = client_of(window.cluster)
    # What is said from now on is heard, or is in what is read after this.
    wakes.clear(window.cluster.pk)
    with ThreadPoolExecutor(WRITING_THREADS, thread_name_prefix="allocation write") as pool:
        begun = begin(window.cluster, client=client, lease=window.lease, pool=pool, counts=counts)
        claims_version = begun.claims_version
        for is_again in (False, True):
            sources = (
                Source(client, RESOURCE_CLAIMS, claims_version, WATCH_SECONDS),
                Source(client, PODS, begun.pods_version, WATCH_SECONDS, SCHEDULED_BY_US),
            )
            try:
                with open_feed(window.cluster.pk, sources) as feed:
                    return _Loop(window, Writer(client, window.lease), feed, begun).run()
            except FeedExpiredError as error:
                if is_again:
                    raise
                log.info("claims listed anew", cluster=window.cluster.name, reason=str(error))
                # The mirror is further behind than the API server remembers.
                listed = client.list(RESOURCE_CLAIMS)
                begun.waiting.take_all_claims(listed.items)
                claims_version = listed.resource_version
    raise AssertionError("the second feed returns or raises")


class _Loop:
    """An open window."""

    def __init__(self, window: Window, writer: Writer, feed: Feed, begun: Begun) -> None:
        self._window: Final = window
        self._feed: Final = feed
        self._waiting: Final = begun.waiting
        self._resident: Final = begun.waiting.resident
        self._rounds: Final = begun.rounds
        self._began_at: Final = time.monotonic()
        self._active_at = self._began_at
        self._upkeep: Final = Upkeep(window.cluster, writer, begun, now=self._began_at)

    def run(self) -> Ended:
        """Go round until the window ends."""
        while True:
            now = time.monotonic()
            if self._window.lease.is_lost:
                raise CalledOffError("the allocation lease is lost")
            if self._window.stopped():
                raise CalledOffError("the worker stops")
            if now >= self._ends_at:
                self._upkeep.close()
                return Ended.OVER
            self._upkeep.turn(now)
            if self._rounds.run():
                self._active_at = time.monotonic()
            elif now - self._active_at >= self._window.idle_seconds:
                self._upkeep.close()
                return Ended.IDLE
            self._take(self._feed.wait(timeout_seconds=self._seconds_to_wait()))

    @property
    def _ends_at(self) -> float:
        """Tell when the window's time is up, should nothing come until then."""
        pause = max(self._began_at + self._window.seconds, self._active_at + PAUSE_SECONDS)
        return min(pause, self._began_at + self._window.longest_seconds)

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        ends = [
            self._upkeep.due_at,
            self._ends_at,
            self._active_at + self._window.idle_seconds,
        ]
        return self._waiting.queue.seconds_until_due(
            now=now, gains=self._resident.gains, at_most=max(min(ends) - now, 0.0)
        )

    def _take(self, changes: Iterable[Change]) -> None:
        looked_at: dict[str, set[str] | None] = {}
        for change in changes:
            if isinstance(change, Wake):
                keys = looked_at.setdefault(change.plural, set())
                if change.keys is None:
                    looked_at[change.plural] = None
                elif keys is not None:
                    keys.update(change.keys)
            else:
                self._waiting.take(*change)
        self._upkeep.room_changed(looked_at.pop(ROOM, set()))
        for plural, keys in looked_at.items():
            self._resident.look_at(plural, keys)
