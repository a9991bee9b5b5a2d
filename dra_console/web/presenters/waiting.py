"""Pending claims, grouped by what their latest attempts said."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

NOT_TRIED = "Not tried yet"


@dataclass(frozen=True, slots=True)
class PendingClaim:
    """A claim without an allocation."""

    uid: str
    namespace: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """Claims that wait for the same reason."""

    reason: str
    namespaces: tuple[str, ...]
    claims: tuple[PendingClaim, ...]
    """Oldest first."""

    @property
    def oldest(self) -> PendingClaim:
        """Name the claim that has waited longest."""
        return self.claims[0]


def waiting_groups(
    claims: Iterable[PendingClaim], *, headlines: Mapping[str, str]
) -> tuple[WaitingGroup, ...]:
    """Group claims by the headline of their latest attempt, largest group first.

    `headlines` are by claim UID; a claim that is not there has not been tried.
    """
    by_reason: dict[str, list[PendingClaim]] = defaultdict(list)
    for claim in sorted(claims, key=lambda claim: claim.created_at):
        by_reason[headlines.get(claim.uid, NOT_TRIED)].append(claim)
    groups = (
        WaitingGroup(
            reason=reason,
            namespaces=tuple(sorted({claim.namespace for claim in members})),
            claims=tuple(members),
        )
        for reason, members in by_reason.items()
    )
    return tuple(sorted(groups, key=lambda group: (-len(group.claims), group.oldest.created_at)))
