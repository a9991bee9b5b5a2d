"""Leave room on the processors for those who cannot wait.

Looks at everything take a second of a processor's time. On a machine without one to spare,
claims would wait for that second to be over. So such work rests now and then, for as long as it
worked, and is done a little later.
"""

import time
from typing import Final

WORKED_SECONDS: Final = 0.01
"""Of the processor's time, before a rest."""


class Pace:
    """Of one thread's work. Rest in no transaction: others may wait for it."""

    def __init__(self) -> None:
        """Begin to work."""
        self._rested_at = time.thread_time()
        self.rested_seconds = 0.0
        """By the clock on the wall, so far."""

    def rest(self) -> None:
        """Sleep for as long as was worked, if that is worth while; call it between small steps."""
        worked = time.thread_time() - self._rested_at
        if worked < WORKED_SECONDS:
            return
        began_at = time.monotonic()
        time.sleep(worked)
        self.rested_seconds += time.monotonic() - began_at
        self._rested_at = time.thread_time()
