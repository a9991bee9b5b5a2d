"""Keep what was tried: folded when it says the same, bounded in number, age and size.

Two tries for a pod or claim say the same when outcome, node and sentence agree, numbers aside.
What else changed, such as how many devices are free and who holds the others, is brought up to
date in the newest attempt: on a busy cluster it changes every second, and would push the history
out.

A thousand claims that wait for the same reason are tried in every round. So an explanation is
kept once for all of whom it is true, a repetition is counted once in a few seconds at most, and
all that is to be written alike is written in one statement.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F

from dra_console.mirror.models import Cluster
from dra_console.scheduling.attempts.rows import (
    ROWS_AT_ONCE,
    forget_oldest,
    keep,
    publish,
    row_of,
    some_of,
)
from dra_console.scheduling.attempts.tries import Try
from dra_console.scheduling.models import Attempt, TriedClaim

COUNTED_EVERY: Final = timedelta(seconds=5)
"""So seldom is a repetition counted and brought up to date; something new is written at once."""


@dataclass(frozen=True, slots=True)
class _Newest:
    """The newest attempt of a subject."""

    pk: int
    digest: str
    body_digest: str
    last_at: datetime


def record_all(cluster: Cluster, tries: Iterable[Try], *, at: datetime) -> list[Try]:
    """Take the tries of a round, one a subject; return those that say something new."""
    by_subject = {one.subject.uid: one for one in tries}
    newest = _newest_of(cluster, by_subject)
    repeated = {
        uid: one
        for uid, one in by_subject.items()
        if uid in newest and newest[uid].digest == one.digest
    }
    fresh = [one for uid, one in by_subject.items() if uid not in repeated]
    counted = [
        (newest[uid], one)
        for uid, one in repeated.items()
        if at - newest[uid].last_at >= COUNTED_EVERY
    ]
    if counted:
        _count(cluster, counted, at=at)
    if fresh:
        _write(cluster, fresh, at=at)
    return fresh


def _newest_of(cluster: Cluster, subject_uids: Iterable[str]) -> dict[str, _Newest]:
    newest: dict[str, _Newest] = {}
    for some in some_of(subject_uids):
        rows = Attempt.objects.filter(cluster=cluster, subject_uid__in=some, is_newest=True)
        newest |= {
            uid: _Newest(pk, digest, body_digest, last_at)
            for uid, pk, digest, body_digest, last_at in rows.order_by("pk").values_list(
                "subject_uid", "pk", "digest", "kept__digest", "last_at"
            )
        }
    return newest


def _count(cluster: Cluster, counted: list[tuple[_Newest, Try]], *, at: datetime) -> None:
    """Count repetitions, and bring up to date what they say otherwise."""
    alike: dict[tuple[str, str, int], list[int]] = {}
    for newest, one in counted:
        said = (one.body.digest, one.headline, one.steps)
        alike.setdefault(said, []).append(newest.pk)
    changed = [one for newest, one in counted if newest.body_digest != one.body.digest]
    with transaction.atomic():
        kept = keep(cluster, [one.body for _, one in counted], at=at)
        for (body_digest, headline, steps), pks in alike.items():
            for some in some_of(pks):
                Attempt.objects.filter(pk__in=some).update(
                    repeats=F("repeats") + 1,
                    last_at=at,
                    kept=kept[body_digest],
                    headline=headline,
                    steps=steps,
                )
        if changed:
            publish(cluster, _claim_uids(changed))


def _write(cluster: Cluster, fresh: list[Try], *, at: datetime) -> None:
    with transaction.atomic():
        kept = keep(cluster, [one.body for one in fresh], at=at)
        uids = [one.subject.uid for one in fresh]
        for some in some_of(uids):
            attempts = Attempt.objects.filter(cluster=cluster, subject_uid__in=some)
            attempts.filter(is_newest=True).update(is_newest=False)
        rows = Attempt.objects.bulk_create(
            (row_of(cluster, one, kept=kept[one.body.digest], at=at) for one in fresh),
            batch_size=ROWS_AT_ONCE,
        )
        TriedClaim.objects.bulk_create(
            (
                TriedClaim(attempt=row, cluster=cluster, claim_uid=claim.uid)
                for row, one in zip(rows, fresh, strict=True)
                for claim in one.subject.claims
            ),
            batch_size=ROWS_AT_ONCE,
        )
        forget_oldest(cluster, uids)
        publish(cluster, _claim_uids(fresh))


def _claim_uids(tries: Iterable[Try]) -> dict[str, None]:
    """Name the claims of tries, each once, in their order."""
    return dict.fromkeys(claim.uid for one in tries for claim in one.subject.claims)
