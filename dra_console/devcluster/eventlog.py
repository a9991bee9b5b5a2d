"""The recent writes in order, and the watchers that follow them.

A watcher owns no queue: it is a position in the one log, and asks for what came after it.
So a slow watcher costs no memory; one that falls behind what the log keeps is told that its
version is gone, as etcd's compaction does. Nothing polls: a write wakes the watchers of its
kind. Everything here runs on the event loop's thread.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import GoneError
from dra_console.devcluster.journal import Entry
from dra_console.devcluster.stored import Stored
from dra_console.kube.kinds import BY_PLURAL, Kind


class EventType(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event:
    """One write."""

    type: EventType
    kind: Kind
    stored: Stored
    """The object after the write; for DELETED its last state, at the deletion's version."""

    previous: Stored | None
    """The object before the write; `None` for ADDED."""

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Take what the journal kept."""
        return cls(
            EventType(entry.type),
            BY_PLURAL[entry.plural],
            Stored.read(entry.value),
            Stored.read(entry.previous) if entry.previous is not None else None,
        )

    @property
    def object(self) -> JsonObject:
        """The object after the write, as a copy."""
        return self.stored.copy()


class EventLog:
    """The last writes; their versions have no gap, so a version is also an index."""

    def __init__(self, events: list[Event], *, resource_version: int, limit: int) -> None:
        self._events = events
        self._limit = limit
        self._waiting: dict[Kind | None, set[asyncio.Future[None]]] = {}
        self.resource_version = resource_version
        """Version of the last write."""

    @property
    def oldest_version(self) -> int:
        """The oldest version from which a watch can start."""
        return self.resource_version - len(self._events)

    def append(self, event: Event) -> bool:
        """Add the next write and wake who waits for it; tell whether old events were dropped."""
        self._events.append(event)
        self.resource_version = event.stored.resource_version
        for kind in (event.kind, None):
            for future in self._waiting.pop(kind, ()):
                if not future.done():
                    future.set_result(None)
        # In quarters: dropping one event from the front of a list moves all others.
        if len(self._events) < self._limit + self._limit // 4 + 1:
            return False
        del self._events[: len(self._events) - self._limit]
        return True

    def forget(self) -> None:
        """Drop all events, as a compaction of etcd does; who lags behind is told so."""
        self._events.clear()

    def after(self, resource_version: int) -> list[Event]:
        """Return the writes after `resource_version`.

        Raises:
            GoneError: the log does not reach back so far, or never got that far.

        """
        if resource_version < self.oldest_version or resource_version > self.resource_version:
            raise GoneError(
                f"too old resource version: {resource_version}"
                f" (kept: {self.oldest_version} to {self.resource_version})"
            )
        return self._events[resource_version - self.oldest_version :]

    def rewound(
        self, objects: Mapping[tuple[str, str], Stored], *, kind: Kind, to: int
    ) -> Mapping[tuple[str, str], Stored]:
        """Return what the objects of a kind, by namespace and name, were at a version.

        Raises:
            GoneError: the log does not reach back so far, or never got that far.

        """
        if to == self.resource_version:
            return objects
        before = dict(objects)
        for event in reversed(self.after(to)):
            if event.kind != kind:
                continue
            if event.previous is None:
                del before[event.stored.key]
            else:
                before[event.stored.key] = event.previous
        return before

    async def changed(self, kind: Kind | None, *, timeout_seconds: float | None) -> None:
        """Return after the next write of `kind` (any for `None`) or when the time is over."""
        future = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(kind, set())
        waiting.add(future)
        try:
            await asyncio.wait((future,), timeout=timeout_seconds)
        finally:
            waiting.discard(future)


class Subscription:
    """A position in the log that moves on as its owner reads."""

    def __init__(self, log: EventLog, *, kind: Kind | None, since: int) -> None:
        log.after(since)
        self._log = log
        self._kind = kind
        self.resource_version = since
        """Everything up to this version was handed out, or was of another kind."""

    def pending(self) -> list[Event]:
        """Return what happened since the last call; empty if nothing did.

        Raises:
            GoneError: the owner was too slow and events were dropped meanwhile.

        """
        events = self._log.after(self.resource_version)
        self.resource_version = self._log.resource_version
        return [event for event in events if self._kind is None or event.kind == self._kind]

    async def next(self, *, timeout_seconds: float | None = None) -> list[Event]:
        """Wait for the next events; an empty list means that the time is over.

        Raises:
            GoneError: the owner was too slow and events were dropped meanwhile.

        """
        events = self.pending()
        if not events:
            await self._log.changed(self._kind, timeout_seconds=timeout_seconds)
            events = self.pending()
        return events

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yield each event, for ever."""
        while True:
            for event in await self.next():
                yield event
