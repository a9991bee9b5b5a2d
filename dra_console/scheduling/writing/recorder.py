"""Writes Events in the background: scheduling never waits for them, and a flood is thinned out.

What is said again within some minutes is counted in one Event's `series`, as client-go does.
An object whose remarks keep changing gets few of them. What cannot be written is dropped: an
Event informs, and what it tells of stands without it.
"""

import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ForbiddenError, NotFoundError
from dra_console.kube.kinds import EVENTS
from dra_console.scheduling.names import SCHEDULER_NAME
from dra_console.scheduling.writing import refusals
from dra_console.scheduling.writing.pod_condition import mark_unschedulable
from dra_console.scheduling.writing.remarks import FAILED_SCHEDULING, Regarding, Remark
from dra_console.scheduling.writing.times import microseconds_text

WAITING_LIMIT: Final = 10_000
REMEMBERED: Final = 4096
"""How many remarks are recognised when they are made again; client-go's cache size."""

SERIES_SECONDS: Final = 360.0
"""A remark that was not repeated for so long begins anew; client-go's time."""

COUNT_SECONDS: Final = 30.0
"""A series is brought up to date no more often."""

BURST_PER_OBJECT: Final = 25
REFILL_SECONDS: Final = 300.0
"""Of one object; client-go's spam filter."""

REST_SECONDS: Final = 60.0
"""After the API server said that the right is missing."""

IDLE_SECONDS: Final = 5.0

log = structlog.get_logger()


@dataclass(slots=True)
class _Series:
    name: str
    count: int
    said_at: float
    """When it was said last, by the recorder's clock."""

    written_at: float
    written_count: int


@dataclass(slots=True)
class _Allowance:
    left: float
    at: float


class Recorder:
    """Writes what is said about the objects of one cluster. Safe to share between threads."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Write as `client`; the thread starts with the first remark and ends when idle."""
        self._client = client
        self._clock = clock
        self._waiting: deque[Remark] = deque()
        self._series: OrderedDict[Remark, _Series] = OrderedDict()
        self._allowances: OrderedDict[Regarding, _Allowance] = OrderedDict()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_writing = False
        self._rests_until = float("-inf")
        self.dropped = 0
        """Remarks that were never written, for whatever reason."""

    def say(self, remark: Remark) -> None:
        """Write it soon; returns at once."""
        with self._changed:
            if len(self._waiting) >= WAITING_LIMIT:
                self.dropped += 1
                return
            self._waiting.append(remark)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="events", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, *, timeout_seconds: float) -> bool:
        """Wait until all that was said is written or dropped; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._waiting and not self._is_writing, timeout_seconds
            )

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
                if not self._changed.wait_for(lambda: bool(self._waiting), IDLE_SECONDS):
                    self._thread = None
                    return
                remark = self._waiting.popleft()
                self._is_writing = True
            self._write(remark)

    def _write(self, remark: Remark) -> None:
        now = self._clock()
        if now < self._rests_until:
            self.dropped += 1
            return
        try:
            self._record(remark, now)
        except ApiError as error:
            self.dropped += 1
            if isinstance(error, ForbiddenError):
                self._rests_until = now + REST_SECONDS
            log.warning(
                "event not written",
                object=f"{remark.regarding.namespace}/{remark.regarding.name}",
                reason=remark.reason,
                error=refusals.in_words(error),
            )

    def _record(self, remark: Remark, now: float) -> None:
        series = self._series.get(remark)
        if series is not None and now - series.said_at < SERIES_SECONDS:
            series.count += 1
            series.said_at = now
            self._series.move_to_end(remark)
            if now - series.written_at >= COUNT_SECONDS or series.written_count == 1:
                self._count(remark, series, now)
            return
        if not self._may_say(remark.regarding, now):
            self.dropped += 1
            return
        name = _name_of(remark)
        self._client.create(EVENTS, _event(remark, name=name), namespace=remark.regarding.namespace)
        self._series[remark] = _Series(name, 1, now, now, 1)
        if len(self._series) > REMEMBERED:
            self._series.popitem(last=False)
        if remark.reason == FAILED_SCHEDULING:
            mark_unschedulable(self._client, remark.regarding, remark.message)

    def _count(self, remark: Remark, series: _Series, now: float) -> None:
        patch: JsonObject = {
            "series": {
                "count": series.count,
                "lastObservedTime": microseconds_text(datetime.now(UTC)),
            }
        }
        try:
            self._client.merge_patch(
                EVENTS, series.name, patch, namespace=remark.regarding.namespace
            )
        except NotFoundError:
            # Events live for an hour; this one is said anew the next time.
            del self._series[remark]
            return
        series.written_at = now
        series.written_count = series.count

    def _may_say(self, regarding: Regarding, now: float) -> bool:
        allowance = self._allowances.setdefault(regarding, _Allowance(BURST_PER_OBJECT, now))
        self._allowances.move_to_end(regarding)
        if len(self._allowances) > REMEMBERED:
            self._allowances.popitem(last=False)
        refilled = allowance.left + (now - allowance.at) / REFILL_SECONDS
        allowance.left, allowance.at = min(refilled, BURST_PER_OBJECT), now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True


def _name_of(remark: Remark) -> str:
    """Name an Event as client-go does: after its object and the moment."""
    return f"{remark.regarding.name[:236]}.{time.time_ns():x}"


def _event(remark: Remark, *, name: str) -> JsonObject:
    regarding = remark.regarding
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": regarding.namespace},
        "involvedObject": {
            "apiVersion": regarding.kind.api_version,
            "kind": regarding.kind.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
        },
        "eventTime": microseconds_text(datetime.now(UTC)),
        "type": remark.event_type,
        "reason": remark.reason,
        "action": remark.action,
        "message": remark.message,
        "reportingComponent": SCHEDULER_NAME,
        "reportingInstance": f"{SCHEDULER_NAME}-{socket.gethostname()}"[:128],
    }
