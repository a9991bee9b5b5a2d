"""Rows of attempts: stored many at a time, told of after the commit, forgotten beyond a bound."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final, TypeVar

from django.db.models import Count

from dra_console import events
from dra_console.mirror.models import Cluster
from dra_console.scheduling.attempts.bodies import Body
from dra_console.scheduling.attempts.tries import Try
from dra_console.scheduling.models import Attempt, KeptExplanation

KEPT_PER_SUBJECT: Final = 20
"""Attempts of one pod or claim, the newest."""

ROWS_AT_ONCE: Final = 500
"""To bound the number of SQL parameters."""

CLAIMS_TOLD_OF: Final = 200
"""At once, each by a message of its own; pages of claims that wait look again every 5 s anyway."""

Item = TypeVar("Item")


def keep(cluster: Cluster, bodies: Iterable[Body], *, at: datetime) -> dict[str, KeptExplanation]:
    """Store explanations that are not stored yet; `used_at` keeps the sweep off all of them.

    Returned by their digests.
    """
    by_digest = {body.digest: body for body in bodies}
    known = KeptExplanation.objects.filter(cluster=cluster, digest__in=by_digest)
    known.update(used_at=at)
    kept = {row.digest: row for row in known.defer("body")}
    new = [
        KeptExplanation(
            cluster=cluster,
            digest=digest,
            body=body.shaped,
            size_bytes=body.size_bytes,
            used_at=at,
        )
        for digest, body in by_digest.items()
        if digest not in kept
    ]
    created = KeptExplanation.objects.bulk_create(
        new,
        update_conflicts=True,
        unique_fields=("cluster", "digest"),
        update_fields=("used_at",),
    )
    return kept | {row.digest: row for row in created}


def row_of(cluster: Cluster, one: Try, *, kept: KeptExplanation, at: datetime) -> Attempt:
    """Shape the first of tries that say the same."""
    names = one.subject.claim_names
    first = next(iter(one.subject.claims), None)
    return Attempt(
        cluster=cluster,
        subject_uid=one.subject.uid,
        namespace=one.subject.namespace,
        pod_name=one.subject.pod_name,
        claim_uid=first.uid if first else "",
        claim_name=first.name if first else "",
        claim_names=names,
        signature=one.signature,
        outcome=one.outcome,
        headline=one.headline,
        kept=kept,
        digest=one.digest,
        node_name=one.node_name,
        steps=one.steps,
        started_at=at,
        last_at=at,
    )


def forget_oldest(cluster: Cluster, subject_uids: Iterable[str]) -> None:
    """Delete what these subjects have beyond the bound."""
    for some in some_of(subject_uids):
        attempts = Attempt.objects.filter(cluster=cluster, subject_uid__in=some).order_by()
        crowded = attempts.values("subject_uid").annotate(tries=Count("pk"))
        for uid in crowded.filter(tries__gt=KEPT_PER_SUBJECT).values_list("subject_uid", flat=True):
            own = attempts.filter(subject_uid=uid).order_by("-pk")
            excess = own.values_list("pk", flat=True)[KEPT_PER_SUBJECT:]
            Attempt.objects.filter(pk__in=list(excess)).delete()


def publish(cluster: Cluster, claim_uids: Iterable[str]) -> None:
    """Tell browsers, once it is committed, that something new was said of these claims."""
    topics = [events.claim_topic(cluster.pk, uid) for uid in islice(claim_uids, CLAIMS_TOLD_OF)]
    events.publish_on_commit(events.attempts_topic(cluster.pk), *topics)


def some_of(each: Iterable[Item]) -> Iterator[list[Item]]:
    """Give a few at a time."""
    rest = iter(each)
    while some := list(islice(rest, ROWS_AT_ONCE)):
        yield some
