"""One alarm clock between threads: many may set it, the earliest time wins."""

import threading
import time
from collections.abc import Callable


class Alarm:
    """Rings once for all that was asked for before it rang."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._due: float | None = None
        self._is_closed = False

    @property
    def due(self) -> float | None:
        """When it rings next, on its clock; `None`: nobody has asked."""
        with self._changed:
            return self._due

    def ring_within(self, seconds: float) -> None:
        """Ring at the latest in so many seconds; an earlier time that is set already stays."""
        due = self._monotonic() + seconds
        with self._changed:
            if self._due is None or due < self._due:
                self._due = due
                self._changed.notify_all()

    def wait(self) -> bool:
        """Wait until it rings; false means that it was closed and never will."""
        with self._changed:
            while not self._is_closed:
                left = None if self._due is None else self._due - self._monotonic()
                if left is not None and left <= 0:
                    self._due = None
                    return True
                self._changed.wait(left)
            return False

    def close(self) -> None:
        """Let every waiting thread go."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
