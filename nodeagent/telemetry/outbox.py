"""What waits to be told to the console: the newest samples, and whether claims have changed.

Filled by the sampler's and the kubelet's threads, emptied by the link's event loop. A console
that is away costs memory for a few samples and nothing else: the oldest is dropped.
"""

import asyncio
import threading
from collections import deque
from typing import Final

from nodeagent.telemetry.messages import Sample

SAMPLES_KEPT: Final = 5


class Outbox:
    """A bounded queue that drops its oldest sample when full. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples_drop_oldest: deque[Sample] = deque(maxlen=SAMPLES_KEPT)
        self._claims_changed = True
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def offer(self, sample: Sample) -> None:
        """Put a sample; never blocks."""
        with self._lock:
            self._samples_drop_oldest.append(sample)
            self._wake()

    def note_claims(self) -> None:
        """Have the list of claims sent."""
        with self._lock:
            self._claims_changed = True
            self._wake()

    def take(self) -> tuple[tuple[Sample, ...], bool]:
        """Take all samples, oldest first, and whether the claims have changed."""
        with self._lock:
            samples = tuple(self._samples_drop_oldest)
            self._samples_drop_oldest.clear()
            has_claims, self._claims_changed = self._claims_changed, False
            return samples, has_claims

    async def wait(self, seconds: float) -> None:
        """Wait until there is something, or for that long."""
        with self._lock:
            if self._samples_drop_oldest or self._claims_changed:
                return
            event = asyncio.Event()
            self._waiting = (asyncio.get_running_loop(), event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None:
            loop, event = self._waiting
            loop.call_soon_threadsafe(event.set)
