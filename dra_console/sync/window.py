"""One window: a kind of a cluster, followed by us for a bounded time under a lease."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import Kind
from dra_console.leases import Lease
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.cursors import writing
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.identity import confirm_identity

CLUSTER_POLL_SECONDS: Final = 5.0
"""How soon a window notices that its cluster was disabled while nothing happens in it."""

SOONEST_EXPIRY_SECONDS: Final = 5.0


@dataclass(slots=True)
class Window:
    """What a window works on, and what ends it."""

    cluster: Cluster
    kind: Kind
    held: Lease
    seconds: int

    stopped: Callable[[], bool]
    """Tells that the worker wants to stop."""

    kube_system_uid: str = field(init=False)
    """The cluster that is being written for; see `identity`."""

    _expired_at: float = field(init=False, default=float("-inf"))
    _ends_at: float = field(init=False)
    _cluster_seen_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.kube_system_uid = self.cluster.kube_system_uid
        self._cluster_seen_at = time.monotonic()
        self._ends_at = self._cluster_seen_at + self.seconds

    @property
    def seconds_left(self) -> float:
        """How long the window is still open; not positive when it is over."""
        return self._ends_at - time.monotonic()

    def check(self) -> None:
        """Look whether the window must end before its time; cheap enough for every second.

        Raises:
            NotOurTurnError: it must.

        """
        if self.stopped():
            raise NotOurTurnError("the worker stops")
        if self.held.is_lost:
            raise NotOurTurnError("the lease is lost")
        if time.monotonic() - self._cluster_seen_at < CLUSTER_POLL_SECONDS:
            return
        self._cluster_seen_at = time.monotonic()
        if not Cluster.objects.filter(pk=self.cluster.pk, enabled=True).exists():
            raise NotOurTurnError(f"cluster {self.cluster.name} was removed or disabled")

    def note_expiry(self) -> None:
        """Note that the API server knew a version no more.

        Raises:
            ApiError: again, so soon that listing once more would only burden it.

        """
        now = time.monotonic()
        since, self._expired_at = now - self._expired_at, now
        if since < SOONEST_EXPIRY_SECONDS:
            raise ApiError("the API server forgets versions as soon as it has given them out")

    def confirm_cluster(self, client: Client) -> bool:
        """Ask which cluster answers; tell whether it is still the one we write for."""
        before = self.kube_system_uid
        self.kube_system_uid = confirm_identity(self.cluster, client=client)
        return before in {"", self.kube_system_uid}

    @property
    def facts(self) -> dict[str, str]:
        """Say in a log what it works on."""
        return {"cluster": self.cluster.name, "plural": self.kind.plural}

    def writing(self, *, expects: str | None = None) -> AbstractContextManager[Cursor]:
        """Hold the cursor in a transaction for a block that writes; see `cursors.writing`."""
        return writing(
            self.cluster,
            kind=self.kind,
            fence=self.held.fence,
            kube_system_uid=self.kube_system_uid,
            expects=expects,
        )
