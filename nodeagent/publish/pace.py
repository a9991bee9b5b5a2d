"""How often slices may be written (node-agent.md 4.9).

Each write is work for etcd and for every scheduler that watches. What is missing goes at once, a
taint within a second, everything else, as new hardware or somebody's change, once in 5 s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

TAINT_SECONDS: Final = 1.0
"""Also the least between two updates of one slice."""

ROUTINE_SECONDS: Final = 5.0


class Urgency(Enum):
    """How soon after the last write the next may follow; the value is in seconds."""

    AT_ONCE = 0.0
    TAINTS = TAINT_SECONDS
    ROUTINE = ROUTINE_SECONDS


@dataclass(slots=True)
class Pace:
    """When the last write was."""

    monotonic: Callable[[], float]
    _wrote_at: float | None = None

    def wait_seconds(self, urgency: Urgency) -> float:
        """Return how long to wait before the next write; 0 if it may go now."""
        if self._wrote_at is None:
            return 0.0
        return max(0.0, self._wrote_at + urgency.value - self.monotonic())

    def wrote(self) -> None:
        """Note that something has been written just now."""
        self._wrote_at = self.monotonic()
