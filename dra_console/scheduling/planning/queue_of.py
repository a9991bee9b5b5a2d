"""Who waits for the console, in the order in which they are tried, and until when and why.

Pods that name the console as their scheduler, and claims that it reserves ahead: higher
priority first, then the older one, then by name, as kube-scheduler's PrioritySort does.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from dra_console.mirror.models import Cluster
from dra_console.scheduling.attempts.waiting_line import InLine, waiting_line
from dra_console.scheduling.planning.queue_notes import QueueNote, notes_of


class Standing(StrEnum):
    """What somebody in the queue waits for."""

    NEXT = "next"
    """Its turn: nothing is known against it, or what is known is over."""

    BACKING_OFF = "backing-off"
    """Time: it was tried in vain and is tried again soon."""

    FOR_CHANGE = "for-change"
    """A change of nodes, devices or claims that may let it fit."""

    UNKNOWN = "unknown"
    """Redis does not answer, so nobody knows."""


@dataclass(frozen=True, slots=True)
class InQueue:
    """One who waits."""

    place: int
    """From 1."""

    line: InLine
    standing: Standing
    tries: int
    next_try_at: datetime | None
    """Before it, it is not tried unless something of its own changes; None: not known."""

    reason: str
    """Why it did not fit when it was last tried; empty: not tried since it came or changed."""

    tried_at: datetime | None


def queue_of(cluster: Cluster, *, namespaces: Collection[str] | None = None) -> list[InQueue]:
    """List those in these namespaces who wait, `None` for all; places are those among all."""
    notes = notes_of(cluster.pk)
    now = time.time()
    line = enumerate(waiting_line(cluster), start=1)
    seen = [each for each in line if namespaces is None or each[1].namespace in namespaces]
    if notes is None:
        return [InQueue(*each, Standing.UNKNOWN, 0, None, "", None) for each in seen]
    return [_in_queue(place, one, notes.get(one.uid), now=now) for place, one in seen]


def _in_queue(place: int, line: InLine, note: QueueNote | None, *, now: float) -> InQueue:
    if note is None:
        return InQueue(place, line, Standing.NEXT, 0, None, "", None)
    if note.next_try_at > now:
        standing = Standing.BACKING_OFF
    else:
        standing = Standing.FOR_CHANGE if note.waits_for_change else Standing.NEXT
    return InQueue(
        place,
        line,
        standing,
        note.tries,
        datetime.fromtimestamp(note.next_try_at, UTC),
        note.reason,
        datetime.fromtimestamp(note.noted_at, UTC),
    )
