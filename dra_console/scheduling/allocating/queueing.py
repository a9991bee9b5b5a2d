"""What is tried next: claims that are reserved ahead and pods, each when that may change something.

What has just come or changed is tried at once. What did not fit waits until something changes
that could make it fit, and for a second at least, twice as long after each try up to ten (the
back-off of kube-scheduler); so do plans that could not be written. Nothing here is stored: a
window that begins tries everything.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 10.0
REFUSED_PAUSE_SECONDS: Final = 10.0
"""What only another object changes is tried again so seldom, should that change go unnoticed."""

LOOK_EVERY_SECONDS: Final = 0.25
"""How often those that wait are looked through; there may be thousands."""


class What(Enum):
    """The kind of what waits."""

    POD = auto()
    CLAIM = auto()


class Item(NamedTuple):
    """A pod or claim by its key."""

    what: What
    key: str


@dataclass(slots=True)
class Parked:
    """How somebody waits who was tried in vain."""

    tries: int
    not_before: float
    gains: int | None
    """What the world's `gains` were when it did not fit; `None`: time alone counts."""

    reason: str
    """In a line, for people."""


class Queue:
    """Times are seconds of one monotonic clock."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        """Begin with what is to be tried at once."""
        self._fresh: Final = dict.fromkeys(items)
        self._parked: Final[dict[Item, Parked]] = {}
        self._looked_at = float("-inf")

    def __len__(self) -> int:
        """Count what waits, whether it may be tried or not."""
        return len(self._fresh) + len(self._parked)

    def touch(self, item: Item) -> None:
        """Try it next: it has come or changed."""
        self._parked.pop(item, None)
        self._fresh[item] = None

    def forget(self, item: Item) -> None:
        """Try it no more."""
        self._parked.pop(item, None)
        self._fresh.pop(item, None)

    def park(  # noqa: PLR0913 - what is known of a try in vain
        self,
        item: Item,
        *,
        now: float,
        tries: int,
        gains: int | None = None,
        pause_seconds: float = 0.0,
        reason: str = "",
    ) -> None:
        """Let it wait; with `gains`, also until the world's have grown beyond those.

        `tries` counts those before this one. A longer pause than its turn's may be asked for.
        """
        turn = min(FIRST_PAUSE_SECONDS * 2 ** min(tries, 8), LONGEST_PAUSE_SECONDS)
        self._fresh.pop(item, None)
        self._parked[item] = Parked(tries + 1, now + max(turn, pause_seconds), gains, reason)

    def parked(self, item: Item) -> Parked | None:
        """Tell how somebody waits; `None`: not after a try in vain, or not at all."""
        return self._parked.get(item)

    def take(self, *, now: float, gains: int) -> dict[Item, int]:
        """Take what is to be tried now, with how often each was tried since it changed last."""
        due = dict.fromkeys(self._fresh, 0)
        self._fresh.clear()
        if now - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = now
            for item in [*self._due(now, gains)]:
                due[item] = self._parked.pop(item).tries
        return due

    def give_back(self, items: Iterable[Item]) -> None:
        """Take back what could not be tried in this round."""
        for item in items:
            self._fresh[item] = None

    def seconds_until_due(self, *, now: float, gains: int, at_most: float) -> float:
        """Tell for how long nothing is to be tried unless something changes."""
        if self._fresh:
            return 0.0
        times = [
            parked.not_before
            for parked in self._parked.values()
            if parked.gains is None or parked.gains < gains
        ]
        if not times:
            return at_most
        due = max(min(times), self._looked_at + LOOK_EVERY_SECONDS)
        return min(max(due - now, 0.0), at_most)

    def _due(self, now: float, gains: int) -> Iterator[Item]:
        for item, parked in self._parked.items():
            if parked.not_before <= now and (parked.gains is None or parked.gains < gains):
                yield item
