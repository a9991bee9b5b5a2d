"""Allocations that were sent or are about to be, until the mirror shows them.

An allocation is noted in the transaction that asks whose turn it is, and sent after that. So a
newer run knows of every write that an older one may still send, and counts its devices. A
note goes when the mirror shows the allocation, when the API server refused it, or when
`settle` has seen to it that the write can no longer happen.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.db import transaction

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing import note_rows, points
from dra_console.scheduling.writing.claim_changes import ClaimChangedError
from dra_console.scheduling.writing.claim_status import (
    allocation_of,
    has_finalizer,
    is_same_allocation,
    name_of,
    version_of,
)
from dra_console.scheduling.writing.claim_writes import protect
from dra_console.scheduling.writing.points import WritePoint
from dra_console.scheduling.writing.sending import Writer, read_claim
from dra_console.scheduling.writing.taking_back import unprotect
from dra_console.scheduling.writing.turns import hold_turn

log = structlog.get_logger()


@dataclass(slots=True)
class Settled:
    """What became of noted writes."""

    claims: list[JsonObject] = field(default_factory=list)
    """Claims as the API server has them, of notes that were looked up."""

    standing: list[JsonObject] = field(default_factory=list)
    """Those among them that have the allocation which was noted."""

    doubtful: list[str] = field(default_factory=list)
    """UIDs of claims of which the API server did not say; ask again."""


def note_all(
    cluster: Cluster, claims: Iterable[JsonObject], *, fence: int, now: datetime | None = None
) -> None:
    """Note claims as they will be sent, all or none.

    Raises:
        TurnOverError: it is another run's turn; none may be sent.

    """
    points.before(WritePoint.NOTE)
    with transaction.atomic():
        hold_turn(cluster, fence=fence)
        note_rows.put(cluster, claims, at=now or database_now())
    points.after(WritePoint.NOTE)


def withdraw(cluster: Cluster, uids: Collection[str], *, fence: int) -> None:
    """Drop the notes of claims that the API server refused to allocate.

    Raises:
        TurnOverError: the notes are another run's by now.

    """
    _drop(cluster, uids, fence=fence, point=WritePoint.NOTE_WITHDRAWAL)


def forget_shown(cluster: Cluster, *, fence: int) -> None:
    """Forget noted allocations that the mirror shows.

    A claim that it does not show may be gone, or newer than it: `settle` asks the API server.

    Raises:
        TurnOverError: the notes are another run's by now.

    """
    notes = list(WrittenAllocation.objects.filter(cluster=cluster))
    if not notes:
        return
    rows = ResourceClaim.objects.filter(
        cluster=cluster, uid__in=[note.claim_uid for note in notes]
    ).values_list("uid", "allocation")
    shown = dict(rows)
    done = [
        note.claim_uid
        for note in notes
        if note.claim_uid in shown
        and is_same_allocation(shown[note.claim_uid], allocation_of(note.raw))
    ]
    forget(cluster, done, fence=fence)


def settle(writer: Writer, cluster: Cluster, *, uids: Collection[str] | None = None) -> Settled:
    """Decide what became of noted writes, of all claims or of those with `uids`.

    Asks the API server about each, so call it when a run begins, and for what it doubts. A
    write that has not happened is made impossible: it names the claim's version, and taking
    the finalizer off gives the claim another one.

    Raises:
        TurnOverError: it is another run's turn.

    """
    notes = WrittenAllocation.objects.filter(cluster=cluster)
    if uids is not None:
        notes = notes.filter(claim_uid__in=uids)
    settled = Settled()
    decided = []
    for note in notes:
        try:
            live = _look(writer, note)
        except (ApiError, ClaimChangedError) as error:
            log.warning("noted allocation not settled", claim=note.claim_uid, reason=str(error))
            settled.doubtful.append(note.claim_uid)
            continue
        if live is not None:
            settled.claims.append(live)
        if live is None or not is_same_allocation(allocation_of(live), allocation_of(note.raw)):
            decided.append(note.claim_uid)
        else:
            settled.standing.append(live)
    forget(cluster, decided, fence=writer.lease.fence)
    return settled


def forget(cluster: Cluster, uids: Collection[str], *, fence: int) -> None:
    """Drop the notes of claims of which all is known that they could tell.

    Raises:
        TurnOverError: the notes are another run's by now.

    """
    _drop(cluster, uids, fence=fence, point=WritePoint.NOTE_SETTLING)


def _drop(cluster: Cluster, uids: Collection[str], *, fence: int, point: WritePoint) -> None:
    if not uids:
        return
    points.before(point)
    with transaction.atomic():
        # A newer run may have put notes of its own in the place of these.
        hold_turn(cluster, fence=fence)
        WrittenAllocation.objects.filter(cluster=cluster, claim_uid__in=uids).delete()
    points.after(point)


def _look(writer: Writer, note: WrittenAllocation) -> JsonObject | None:
    """Return the claim with or without the noted allocation, which stays so; None: it is gone."""
    try:
        live = read_claim(writer.client, note.raw)
    except (ConflictError, NotFoundError):
        return None
    if allocation_of(live) is not None or version_of(live) != version_of(note.raw):
        return live
    log.info("noted allocation called off", claim=name_of(live))
    return unprotect(writer, live) if has_finalizer(live) else protect(writer, live)
