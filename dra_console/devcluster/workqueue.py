"""Keys of objects that wait to be looked at, each once, and later again where that failed.

A key that is added while it waits is not added twice, so a burst of changes costs one look.
Failures of one key put off that key only (client-go `util/workqueue`).
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class BackOff:
    """Seconds to wait after the n-th failure in a row: doubles from `first` up to `most`."""

    first_seconds: float
    most_seconds: float

    def seconds(self, failures: int) -> float:
        """Compute the wait after `failures` (1 or more) failures."""
        # The exponent is bounded so that years of failures do not overflow a float.
        return min(self.first_seconds * 2.0 ** min(failures - 1, 32), self.most_seconds)


@dataclass(slots=True)
class WorkQueue(Generic[Key]):
    """Hands out keys in the order in which they become due, to one reader."""

    back_off: BackOff
    clock: Callable[[], float]
    """Seconds that only grow, such as `time.monotonic`."""

    _due: dict[Key, float] = field(default_factory=dict)
    _failures: dict[Key, int] = field(default_factory=dict)
    _added: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key: Key) -> None:
        """Make a key due now, also one that was put off."""
        self._put(key, at=self.clock())

    def fail(self, key: Key) -> float:
        """Put a key off after a failure; return the seconds until it is due again."""
        failures = self._failures.get(key, 0) + 1
        self._failures[key] = failures
        seconds = self.back_off.seconds(failures)
        self._put(key, at=self.clock() + seconds)
        return seconds

    def succeed(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    async def next(self) -> Key:
        """Wait for the next due key and take it out."""
        while True:
            self._added.clear()
            wait = None
            if self._due:
                key = min(self._due, key=self._due.__getitem__)
                wait = self._due[key] - self.clock()
                if wait <= 0:
                    del self._due[key]
                    return key
            # Not `wait_for`: Python 3.11's forgets a cancellation that meets a new key.
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._added.wait()

    def _put(self, key: Key, *, at: float) -> None:
        self._due[key] = min(at, self._due.get(key, at))
        self._added.set()
