"""Who has to hear of a change, and hears of it no sooner than it asks.

Dozens of questions are open in a busy cluster, few of which are asked again before the next
change. So a change is written down once, and whoever is asked first catches up. Nodes are
bits of one number.
"""

from typing import Final, Protocol

CHANGES_LIMIT: Final = 1_024


class Follower(Protocol):
    """Whoever keeps something about nodes."""

    def changed(self, nodes: int) -> None:
        """Take note that these nodes are not what they were."""


class ChangeLog:
    """Changes, one after the other, and how far each follower has heard of them."""

    __slots__ = ("_changes", "_heard")

    def __init__(self) -> None:
        self._changes: Final[list[int]] = []
        self._heard: Final[dict[Follower, int]] = {}

    def follow(self, follower: Follower) -> None:
        """Tell of changes from now on."""
        self._heard[follower] = len(self._changes)

    def unfollow(self, follower: Follower) -> None:
        """Tell of no change any more."""
        del self._heard[follower]

    def note(self, nodes: int) -> None:
        """Write a change down."""
        self._changes.append(nodes)
        if len(self._changes) > CHANGES_LIMIT:
            self._tell_all()

    def catch_up(self, follower: Follower) -> None:
        """Tell one follower of what it has not heard."""
        changes = self._changes
        heard = self._heard[follower]
        if heard < len(changes):
            nodes = changes[heard]
            for more in changes[heard + 1 :]:
                nodes |= more
            follower.changed(nodes)
            self._heard[follower] = len(changes)

    def _tell_all(self) -> None:
        """Start a new log; what all are told is added up from the end, once."""
        changes = self._changes
        for at in range(len(changes) - 1, 0, -1):
            changes[at - 1] |= changes[at]
        for follower, heard in self._heard.items():
            if heard < len(changes):
                follower.changed(changes[heard])
        changes.clear()
        for follower in self._heard:
            self._heard[follower] = 0
