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
from dra_console.scheduling.allocating.counting import Counter
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.feed import (
    Change,
    Feed,
    FeedEndedError,
    FeedExpiredError,
    Source,
    open_feed,
)
from dra_console.scheduling.allocating.wakes import ROOM, Wake
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.sending import Writer
from dra_console.scheduling.writing.turns import check_turn

WINDOW_SECONDS: Final = 60
IDLE_SECONDS: Final = 20
"""A window in which nothing was tried for so long ends; the next change opens another."""

COMPARE_EVERY_SECONDS: Final = 5.0
"""Wake-ups may be lost: so often all versions are compared with the mirror's."""

CHECK_EVERY_SECONDS: Final = 1.0
WRITING_THREADS: Final = 16
GRACE_SECONDS: Final = 30
"""Watches are asked for longer than the window lasts, so that it ends first."""

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
        begun.rounds.withdrawals = notes.Withdrawals()
        claims_version = begun.claims_version
        for is_again in (False, True):
            seconds = int(window.seconds) + GRACE_SECONDS
            sources = (
                Source(client, RESOURCE_CLAIMS, claims_version, seconds),
                Source(client, PODS, begun.pods_version, seconds, SCHEDULED_BY_US),
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
        self._writer: Final = writer
        self._feed: Final = feed
        self._waiting: Final = begun.waiting
        self._resident: Final = begun.waiting.resident
        self._rounds: Final = begun.rounds
        now = time.monotonic()
        self._ends_at: Final = now + window.seconds
        self._active_at = now
        self._checked_at = self._compared_at = now
        self._counter: Final = Counter(window.cluster.pk, begun.rounds.counts)
        self._room_changed: set[str] | None = set()
        """Nodes on which pods came, went or changed; `None`: many."""

    def run(self) -> Ended:
        """Go round until the window ends."""
        while True:
            now = time.monotonic()
            if self._window.lease.is_lost:
                raise CalledOffError("the allocation lease is lost")
            if now >= self._ends_at:
                self._close()
                return Ended.OVER
            self._check(now)
            self._compare(now)
            if self._rounds.run():
                self._active_at = time.monotonic()
            elif now - self._active_at >= self._window.idle_seconds:
                self._close()
                return Ended.IDLE
            self._take(self._feed.wait(timeout_seconds=self._seconds_to_wait()))

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        ends = [
            self._checked_at + CHECK_EVERY_SECONDS,
            self._compared_at + COMPARE_EVERY_SECONDS,
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
        names = looked_at.pop(ROOM, set())
        if names is None or self._room_changed is None:
            self._room_changed = None
        else:
            self._room_changed |= names
        for plural, keys in looked_at.items():
            self._resident.look_at(plural, keys)

    def _check(self, now: float) -> None:
        if now - self._checked_at < CHECK_EVERY_SECONDS:
            return
        self._checked_at = now
        if self._window.stopped():
            raise CalledOffError("the worker stops")
        if not Cluster.objects.filter(pk=self._window.cluster.pk, enabled=True).exists():
            raise CalledOffError("the cluster was removed or disabled")
        check_turn(self._window.cluster, fence=self._window.lease.fence)
        self._withdraw()
        self._counter.tell()
        if self._rounds.doubtful:
            self._decide()
        if self._room_changed != set():
            names, self._room_changed = self._room_changed, set()
            self._resident.compare_use(names)

    def _compare(self, now: float) -> None:
        if now - self._compared_at < COMPARE_EVERY_SECONDS:
            return
        self._compared_at = now
        notes.forget_shown(self._window.cluster, fence=self._window.lease.fence)
        self._resident.compare()

    def _close(self) -> None:
        self._withdraw()
        self._counter.tell()

    def _withdraw(self) -> None:
        withdrawals = self._rounds.withdrawals
        if withdrawals is not None:
            withdrawals.write(self._window.cluster, fence=self._window.lease.fence)

    def _decide(self) -> None:
        """Find out about writes whose answers were lost."""
        asked = frozenset(self._rounds.doubtful)
        settled = notes.settle(self._writer, self._window.cluster, uids=asked)
        decided = asked - frozenset(settled.doubtful)
        self._rounds.doubtful -= decided
        for key in self._resident.decide(decided, settled.claims):
            self._waiting.claim_changed(key)
