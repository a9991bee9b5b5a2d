"""What waits now, grouped by what it asks for, with what its newest attempts said.

Five queries whatever waits: pending claims, waiting pods, the newest attempts of each, and the
times of those that speak for a group. A claim counts with its pod's attempt; a pod whose claims do
not exist yet counts by itself.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Q, QuerySet

from dra_console.mirror.models import ClaimState, Cluster, Pod, ResourceClaim
from dra_console.scheduling.models import Attempt, TriedClaim

NOT_TRIED: Final = "not-tried"
"""Beside the outcomes of attempts: none has been made yet."""

FINISHED: Final = ("Succeeded", "Failed")


class Waiting(NamedTuple):
    """A pending claim, or a pod that has no claim yet."""

    uid: str
    namespace: str
    name: str
    created_at: datetime
    is_pod: bool = False


class Tried(NamedTuple):
    """The newest attempt of what waits; times are read for a few only, since they cost most."""

    pk: int
    signature: str
    outcome: str
    headline: str
    digest: str

    @property
    def group(self) -> str:
        """Name those who ask alike; who was tried alone by those who are told the same."""
        return self.signature or self.digest


@dataclass(frozen=True, slots=True)
class PendingGroup:
    """Claims and pods that ask for the same."""

    signature: str
    """Empty: not tried yet."""

    outcome: str
    headline: str
    """Of the newest attempt in the group; empty: not tried yet."""

    tried_at: datetime | None
    attempt: int | None
    """Primary key of the newest attempt of the oldest member."""

    members: tuple[Waiting, ...]
    """Oldest first."""

    @property
    def oldest(self) -> Waiting:
        """Name the one that waits longest."""
        return self.members[0]

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Name the namespaces of all."""
        return tuple(sorted({member.namespace for member in self.members}))


def pending_groups(
    cluster: Cluster,
    *,
    namespaces: Collection[str] | None,
    outcome: str = "",
) -> list[PendingGroup]:
    """Group what waits in these namespaces (None: all), largest group first.

    `outcome` leaves the groups whose newest attempt ended so, or `not-tried`.
    """
    where = Q(cluster=cluster)
    if namespaces is not None:
        where &= Q(namespace__in=namespaces)
    claims = ResourceClaim.objects.filter(where, state=ClaimState.PENDING).order_by()
    lonely = Attempt.objects.filter(where, is_newest=True, claim_uid="").order_by("last_at", "pk")
    pods = Pod.objects.order_by().filter(
        where & ~Q(phase__in=FINISHED),
        node_name="",
        deletion_requested_at=None,
        uid__in=lonely.order_by().values("subject_uid"),
    )
    columns = ("uid", "namespace", "name", "created_at")
    waiting = [Waiting(*row) for row in claims.values_list(*columns)]
    waiting += [Waiting(*row)._replace(is_pod=True) for row in pods.values_list(*columns)]
    tried = _tried_claims(cluster, claims)
    tried |= {uid: Tried(*row) for uid, *row in lonely.values_list("subject_uid", *Tried._fields)}
    groups = _grouped(waiting, tried)
    return [group for group in groups if outcome in {"", group.outcome}]


def _grouped(waiting: Iterable[Waiting], tried: Mapping[str, Tried]) -> list[PendingGroup]:
    members: dict[str, list[Waiting]] = {}
    for one in sorted(waiting, key=lambda each: (each.created_at, each.namespace, each.name)):
        attempt = tried.get(one.uid)
        members.setdefault(attempt.group if attempt else "", []).append(one)
    # Attempts stand in the order in which they spoke last.
    newest = {attempt.group: attempt for attempt in tried.values()}
    spoke_at = dict(
        Attempt.objects.filter(pk__in=[attempt.pk for attempt in newest.values()]).values_list(
            "pk", "last_at"
        )
    )
    groups = [
        _group(signature, tuple(alike), tried, newest.get(signature), spoke_at)
        for signature, alike in members.items()
    ]
    return sorted(groups, key=lambda group: (-len(group.members), group.oldest.created_at))


def _group(
    signature: str,
    members: tuple[Waiting, ...],
    tried: Mapping[str, Tried],
    newest: Tried | None,
    spoke_at: Mapping[int, datetime],
) -> PendingGroup:
    oldest = tried.get(members[0].uid)
    return PendingGroup(
        signature=signature,
        outcome=newest.outcome if newest else NOT_TRIED,
        headline=newest.headline if newest else "",
        tried_at=spoke_at.get(newest.pk) if newest else None,
        attempt=oldest.pk if oldest else None,
        members=members,
    )


def _tried_claims(cluster: Cluster, claims: QuerySet[ResourceClaim]) -> dict[str, Tried]:
    """Give the newest attempt of each claim; of several pods' attempts the last one."""
    rows = TriedClaim.objects.filter(
        cluster=cluster, claim_uid__in=claims.values("uid"), attempt__is_newest=True
    ).order_by("attempt__last_at", "attempt_id")
    columns = (f"attempt__{name}" for name in Tried._fields)
    return {uid: Tried(*row) for uid, *row in rows.values_list("claim_uid", *columns)}
