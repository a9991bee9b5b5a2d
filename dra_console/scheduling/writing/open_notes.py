"""What became of the notes of one window, until it is written down.

Until then notes say what was sent. That costs whoever reads them a question to the API server
and nothing else, so it holds up no round: it is written down once a second, and of the mirror
only versions are asked.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.claim_status import (
    allocation_of,
    is_same_allocation,
    uid_of,
    version_of,
)

ASKED_AT_ONCE: Final = 500
LATE_SECONDS: Final = 5.0
"""The mirror may have missed a version and show one that came after it."""


@dataclass(frozen=True, slots=True)
class _Standing:
    version: str
    """What the API server gave to the claim with its allocation."""

    allocation: JsonObject | None
    at: float


@dataclass(slots=True)
class OpenNotes:
    """Claims by UID whose notes can go now, or once the mirror shows what was written."""

    _refused: set[str] = field(default_factory=set)
    _standing: dict[str, _Standing] = field(default_factory=dict)

    def note_anew(self, uids: Iterable[str]) -> None:
        """Forget what is known of earlier notes of these claims."""
        for uid in uids:
            self._refused.discard(uid)
            self._standing.pop(uid, None)

    def refuse(self, uids: Iterable[str]) -> None:
        """Take claims whose noted allocation does not stand and never will."""
        self._refused.update(uids)

    def stand(self, claims: Iterable[JsonObject]) -> None:
        """Take claims as the API server has them, with the allocation that was noted."""
        now = time.monotonic()
        for claim in claims:
            self._standing[uid_of(claim)] = _Standing(version_of(claim), allocation_of(claim), now)

    def withdraw(self, cluster: Cluster, *, fence: int) -> None:
        """Write down what was refused.

        Raises:
            TurnOverError: the notes are another run's by now.

        """
        uids, self._refused = self._refused, set()
        notes.withdraw(cluster, uids, fence=fence)

    def forget_shown(self, cluster: Cluster, *, fence: int) -> None:
        """Forget notes of allocations that the mirror shows; of many, some at a time.

        Raises:
            TurnOverError: the notes are another run's by now.

        """
        asked = {uid: self._standing.pop(uid) for uid in [*islice(self._standing, ASKED_AT_ONCE)]}
        shown = _shown(cluster, asked)
        # Those that are not shown are asked for again when all others were.
        self._standing.update((uid, asked[uid]) for uid in asked.keys() - shown)
        notes.forget(cluster, shown, fence=fence)


def _shown(cluster: Cluster, standing: dict[str, _Standing]) -> set[str]:
    rows = ResourceClaim.objects.filter(cluster=cluster)
    versions = dict(rows.filter(uid__in=[*standing]).values_list("uid", "resource_version"))
    shown = {uid for uid, version in versions.items() if version == standing[uid].version}
    late_since = time.monotonic() - LATE_SECONDS
    late = [uid for uid in versions if uid not in shown and standing[uid].at <= late_since]
    if late:
        allocations = rows.filter(uid__in=late).values_list("uid", "allocation")
        shown |= {
            uid
            for uid, allocation in allocations
            if is_same_allocation(allocation, standing[uid].allocation)
        }
    return shown
