"""What waits now, grouped by what it asks for, with what its newest attempts said.

Four queries whatever waits: pending claims, waiting pods, and the newest attempts of each. A
claim counts with its pod's attempt; a pod whose claims do not exist yet counts by itself.
"""

from collections.abc import Collection, Iterable
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
    is_pod: bool


class Tried(NamedTuple):
    """The newest attempt of what waits."""

    pk: int
    signature: str
    outcome: str
    headline: str
    last_at: datetime
    pod_name: str
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
    tried_claims = dict(_tried_claims(cluster, claims))
    waiting = [
        Waiting(*row, is_pod=False)
        for row in claims.values_list("uid", "namespace", "name", "created_at")
    ]
    tried_pods = _tried_pods(where)
    waiting += [
        Waiting(*row, is_pod=True)
        for row in _waiting_pods(where).values_list("uid", "namespace", "name", "created_at")
        if row[0] in tried_pods
    ]
    groups = _grouped(waiting, {**tried_claims, **tried_pods})
    return [group for group in groups if outcome in {"", group.outcome}]


def _grouped(waiting: Iterable[Waiting], tried: dict[str, Tried]) -> list[PendingGroup]:
    members: dict[str, list[Waiting]] = {}
    for one in sorted(waiting, key=lambda each: (each.created_at, each.namespace, each.name)):
        attempt = tried.get(one.uid)
        members.setdefault(attempt.group if attempt else "", []).append(one)
    groups = [_group(signature, alike, tried) for signature, alike in members.items()]
    return sorted(groups, key=lambda group: (-len(group.members), group.oldest.created_at))


def _group(signature: str, members: list[Waiting], tried: dict[str, Tried]) -> PendingGroup:
    attempts = [tried[member.uid] for member in members if member.uid in tried]
    newest = max(attempts, key=lambda each: (each.last_at, each.pk), default=None)
    return PendingGroup(
        signature=signature,
        outcome=newest.outcome if newest else NOT_TRIED,
        headline=newest.headline if newest else "",
        tried_at=newest.last_at if newest else None,
        attempt=attempts[0].pk if attempts else None,
        members=tuple(members),
    )


def _tried_claims(cluster: Cluster, claims: QuerySet[ResourceClaim]) -> Iterable[tuple[str, Tried]]:
    """Give the newest attempt of each claim; of several pods' attempts the last one."""
    rows = TriedClaim.objects.filter(
        cluster=cluster, claim_uid__in=claims.values("uid"), attempt__is_newest=True
    ).order_by("attempt__last_at", "attempt_id")
    columns = (f"attempt__{name}" for name in Tried._fields)
    return ((uid, Tried(*row)) for uid, *row in rows.values_list("claim_uid", *columns))


def _tried_pods(where: Q) -> dict[str, Tried]:
    """Give the newest attempts of pods that have no claim yet, by the pod's UID."""
    rows = Attempt.objects.filter(where, is_newest=True, claim_uid="").order_by("pk")
    return {uid: Tried(*row) for uid, *row in rows.values_list("subject_uid", *Tried._fields)}


def _waiting_pods(where: Q) -> QuerySet[Pod]:
    return Pod.objects.order_by().filter(
        where & ~Q(phase__in=FINISHED), node_name="", deletion_requested_at=None
    )
