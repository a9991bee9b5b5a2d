"""How long to wait before the API server is asked again."""

import random
from dataclasses import dataclass, field
from typing import Final

from nodeagent.kube.errors import ConflictError, InvalidError, StatusError

FIRST_SECONDS: Final = 0.5
CONFLICT_SECONDS: Final = 0.05
"""After a conflict everything has been read anew: the first attempts after it need no patience."""

INVALID_SECONDS: Final = 300
"""What the server's validation refused once, it will refuse again."""

LONGEST_WISH_SECONDS: Final = 300
"""How far a server's `Retry-After` is believed."""


@dataclass(slots=True)
class BackOff:
    """Waiting times that double, with jitter, until something worked."""

    longest_seconds: float
    _next_seconds: float = field(default=FIRST_SECONDS, init=False)
    _conflict_seconds: float = field(default=CONFLICT_SECONDS, init=False)

    def after(self, error: Exception) -> float:
        """Return how long to wait after this failure; a server's own wish counts."""
        if isinstance(error, InvalidError):
            return INVALID_SECONDS
        if isinstance(error, ConflictError):
            seconds = self._conflict_seconds
            self._conflict_seconds = min(self.longest_seconds, seconds * 2)
        else:
            seconds = self._next_seconds
            self._next_seconds = min(self.longest_seconds, seconds * 2)
        if isinstance(error, StatusError) and error.retry_after_seconds is not None:
            return min(error.retry_after_seconds, LONGEST_WISH_SECONDS)
        return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret

    def reset(self) -> None:
        """Start again with the shortest time."""
        self._next_seconds = FIRST_SECONDS
        self._conflict_seconds = CONFLICT_SECONDS
