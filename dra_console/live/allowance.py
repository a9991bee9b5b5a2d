"""How many frames a connection may send."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class FrameAllowance:
    """A token bucket: `burst` frames at once, refilled at `per_second`."""

    burst: float
    per_second: float
    _left: float = field(init=False)
    _counted_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._left = self.burst

    def take(self, now_seconds: float) -> bool:
        """Take one frame's worth, if there is one left; `now_seconds` is a monotonic clock."""
        if self._counted_at is not None:
            refill = (now_seconds - self._counted_at) * self.per_second
            self._left = min(self.burst, self._left + refill)
        self._counted_at = now_seconds
        if self._left < 1:
            return False
        self._left -= 1
        return True
