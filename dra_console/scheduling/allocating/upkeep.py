"""What an open window does between two rounds: is it still called for, is its world still true?

Each turn takes a few milliseconds at most: a claim that comes meanwhile waits for it.
"""

from collections.abc import Collection, Iterator
from typing import Final

from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.beginning import Begun, CalledOffError
from dra_console.scheduling.allocating.counting import Counter
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.sending import Writer
from dra_console.scheduling.writing.turns import check_turn

COMPARE_EVERY_SECONDS: Final = 5.0
"""Wake-ups may be lost: so often all versions are compared with the mirror's."""

CHECK_EVERY_SECONDS: Final = 1.0


class Upkeep:
    """Of one window, in its thread."""

    def __init__(self, cluster: Cluster, writer: Writer, begun: Begun, *, now: float) -> None:
        """Take a world that was just read; times are seconds of the monotonic clock."""
        self._cluster: Final = cluster
        self._writer: Final = writer
        self._waiting: Final = begun.waiting
        self._resident: Final = begun.waiting.resident
        self._rounds: Final = begun.rounds
        self._counter: Final = Counter(cluster.pk, begun.rounds.counts)
        self._checked_at = self._compared_at = now
        self._comparing: Iterator[None] | None = None
        self._room_changed: set[str] | None = set()
        """Nodes on which pods came, went or changed; `None`: many."""

    @property
    def due_at(self) -> float:
        """Tell when there is something to be done next."""
        if self._comparing is not None:
            return self._compared_at
        return min(
            self._checked_at + CHECK_EVERY_SECONDS, self._compared_at + COMPARE_EVERY_SECONDS
        )

    def room_changed(self, node_names: Collection[str] | None) -> None:
        """Take note of nodes on which pods came, went or changed; `None`: many."""
        if node_names is None or self._room_changed is None:
            self._room_changed = None
        else:
            self._room_changed.update(node_names)

    def turn(self, now: float) -> None:
        """Do what is due.

        Raises:
            CalledOffError: the window must end.
            TurnOverError: another has begun.

        """
        if now - self._checked_at >= CHECK_EVERY_SECONDS:
            self._checked_at = now
            self._check()
        if self._comparing is None and now - self._compared_at >= COMPARE_EVERY_SECONDS:
            self._compared_at = now
            self._comparing = self._resident.comparing()
        if self._comparing is not None:
            self._compare_some(self._comparing)

    def close(self) -> None:
        """Write down what was not yet."""
        self._rounds.open_notes.withdraw(self._cluster, fence=self._writer.lease.fence)
        self._counter.tell()

    def _check(self) -> None:
        fence = self._writer.lease.fence
        cluster = Cluster.objects.filter(pk=self._cluster.pk, enabled=True).first()
        if cluster is None:
            raise CalledOffError("the cluster was removed or disabled")
        if client_of(cluster) is not self._writer.client:
            raise CalledOffError("the cluster's credentials have changed")
        check_turn(cluster, fence=fence)
        self._rounds.open_notes.withdraw(cluster, fence=fence)
        self._rounds.open_notes.forget_shown(cluster, fence=fence)
        self._counter.tell()
        if self._rounds.doubtful:
            self._decide()
        if self._room_changed != set():
            names, self._room_changed = self._room_changed, set()
            self._resident.compare_use(names)

    def _compare_some(self, comparing: Iterator[None]) -> None:
        try:
            next(comparing)
        except StopIteration:
            self._comparing = None

    def _decide(self) -> None:
        """Find out about writes whose answers were lost."""
        asked = frozenset(self._rounds.doubtful)
        settled = notes.settle(self._writer, self._cluster, uids=asked)
        self._rounds.open_notes.stand(settled.standing)
        decided = asked - frozenset(settled.doubtful)
        self._rounds.doubtful -= decided
        for key in self._resident.decide(decided, settled.claims):
            self._waiting.claim_changed(key)
