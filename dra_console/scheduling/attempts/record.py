"""Keep what was tried: folded when it says the same, bounded in number, age and size.

Two tries for a pod or claim say the same when outcome, sentence and node agree. What else
changed, such as who holds a device that was taken before and after, is brought up to date in the
newest attempt: on a busy cluster it changes every few seconds, and would push the history out.

A thousand claims that wait for the same reason are tried in every round. So an explanation is
kept once for all of whom it is true, and repetitions are counted in memory and written every few
seconds, all that rose alike in one statement. A recorder that dies loses the count of those
seconds and nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, TypeVar

from django.db import transaction
from django.db.models import Count, F

from dra_console import events
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import Explanation
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.attempts.bodies import Body
from dra_console.scheduling.attempts.subjects import Subject
from dra_console.scheduling.attempts.tries import Try, try_of
from dra_console.scheduling.models import Attempt, KeptExplanation, TriedClaim

KEPT_PER_SUBJECT: Final = 20
"""Attempts of one pod or claim, the newest."""

WRITTEN_EVERY: Final = timedelta(seconds=5)
"""Repetitions and news that change no sentence; what says something new is written at once."""

ROWS_AT_ONCE: Final = 500
"""To bound the number of SQL parameters."""

SUBJECTS_REMEMBERED: Final = 50_000
"""By a recorder; then it forgets all, and reads again what it needs."""

Item = TypeVar("Item")


@dataclass(slots=True)
class _Newest:
    """The newest attempt of a subject, and what has not been written of it yet."""

    pk: int
    digest: str
    body_digest: str
    repeats: int = 0
    steps: int = 0
    body: Body | None = None
    """Another explanation of the same sentence."""

    claim_uids: tuple[str, ...] = ()
    """Of the subject with that explanation."""


class Recorder:
    """Records the tries of one cluster, round after round; not for several threads at once."""

    def __init__(self, cluster: Cluster) -> None:
        """Know nothing yet: the newest attempts are read as they are needed."""
        self._cluster = cluster
        self._newest: dict[str, _Newest] = {}
        self._unwritten: set[str] = set()
        self._last_at: datetime | None = None
        self._written_at: datetime | None = None

    def record_all(self, tries: Iterable[Try], *, at: datetime) -> list[Try]:
        """Take the tries of a round, one a subject; return those that say something new."""
        by_subject = {one.subject.uid: one for one in tries}
        if len(self._newest) + len(by_subject) > SUBJECTS_REMEMBERED:
            self.flush()
            self._newest.clear()
        self._read_newest(by_subject)
        fresh = {uid: one for uid, one in by_subject.items() if not self._repeats(uid, one)}
        self._last_at = at
        if fresh:
            self._write_counts(fresh.keys() & self._unwritten)
            self._write_fresh(fresh, at=at)
        if self._written_at is None:
            self._written_at = at
        if at - self._written_at >= WRITTEN_EVERY:
            self.flush()
        return [*fresh.values()]

    def flush(self) -> None:
        """Write what was counted since; call it when no round follows soon."""
        self._written_at = self._last_at
        self._write_counts(self._unwritten)

    def _repeats(self, uid: str, one: Try) -> bool:
        """Count a try that says what the newest attempt says; tell whether it does."""
        newest = self._newest.get(uid)
        if newest is None or newest.digest != one.digest:
            return False
        newest.repeats += 1
        newest.steps = one.steps
        if newest.body_digest == one.body.digest:
            newest.body = None
        else:
            newest.body = one.body
            newest.claim_uids = tuple(claim.uid for claim in one.subject.claims)
        self._unwritten.add(uid)
        return True

    def _read_newest(self, subject_uids: Iterable[str]) -> None:
        for some in _some(uid for uid in subject_uids if uid not in self._newest):
            rows = Attempt.objects.filter(
                cluster=self._cluster, subject_uid__in=some, is_newest=True
            ).order_by("pk")
            self._newest |= {
                uid: _Newest(pk, digest, body_digest)
                for uid, pk, digest, body_digest in rows.values_list(
                    "subject_uid", "pk", "digest", "kept__digest"
                )
            }

    def _write_counts(self, subject_uids: AbstractSet[str]) -> None:
        changed = [self._newest[uid] for uid in subject_uids]
        self._unwritten = self._unwritten - subject_uids
        if not changed or self._last_at is None:
            return
        with transaction.atomic():
            bodies = [newest.body for newest in changed if newest.body is not None]
            kept = _keep(self._cluster, bodies, at=self._last_at)
            for (rise, steps, body_digest), pks in _risen_alike(changed).items():
                values = {"repeats": F("repeats") + rise, "last_at": self._last_at, "steps": steps}
                if body_digest:
                    values["kept"] = kept[body_digest]
                for some in _some(pks):
                    Attempt.objects.filter(pk__in=some).update(**values)
            news = {uid for one in changed if one.body is not None for uid in one.claim_uids}
            _publish(self._cluster, news)
        for newest in changed:
            newest.repeats = 0
            if newest.body is not None:
                newest.body_digest, newest.body = newest.body.digest, None

    def _write_fresh(self, fresh: Mapping[str, Try], *, at: datetime) -> None:
        with transaction.atomic():
            kept = _keep(self._cluster, [one.body for one in fresh.values()], at=at)
            for some in _some(fresh):
                Attempt.objects.filter(
                    cluster=self._cluster, subject_uid__in=some, is_newest=True
                ).update(is_newest=False)
            rows = Attempt.objects.bulk_create(
                (
                    _row(self._cluster, one, kept=kept[one.body.digest], at=at)
                    for one in fresh.values()
                ),
                batch_size=ROWS_AT_ONCE,
            )
            TriedClaim.objects.bulk_create(
                (
                    TriedClaim(attempt=row, cluster=self._cluster, claim_uid=claim.uid)
                    for row, one in zip(rows, fresh.values(), strict=True)
                    for claim in one.subject.claims
                ),
                batch_size=ROWS_AT_ONCE,
            )
            _forget_oldest(self._cluster, fresh)
            claims = {claim.uid for one in fresh.values() for claim in one.subject.claims}
            _publish(self._cluster, claims)
        self._newest |= {
            uid: _Newest(row.pk, one.digest, one.body.digest)
            for row, (uid, one) in zip(rows, fresh.items(), strict=True)
        }


def record_all(cluster: Cluster, tries: Iterable[Try], *, at: datetime) -> list[Try]:
    """Record one round by itself; whoever records round after round keeps a `Recorder`."""
    recorder = Recorder(cluster)
    fresh = recorder.record_all(tries, at=at)
    recorder.flush()
    return fresh


def record(
    claim: ResourceClaim, explanation: Explanation, *, pod_name: str, at: datetime
) -> Attempt:
    """Record one try of a mirrored claim, for a pod of this name or for none."""
    subject = Subject(claim.namespace, (decode_claim(claim.raw),))
    one = replace(try_of(subject, explanation), pod_name=pod_name)
    record_all(claim.cluster, [one], at=at)
    return Attempt.objects.get(cluster=claim.cluster, subject_uid=claim.uid, is_newest=True)


def _keep(cluster: Cluster, bodies: Iterable[Body], *, at: datetime) -> dict[str, KeptExplanation]:
    """Store explanations that are not stored yet; `used_at` keeps the sweep off all of them."""
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


def _row(cluster: Cluster, one: Try, *, kept: KeptExplanation, at: datetime) -> Attempt:
    names = one.subject.claim_names
    first = next(iter(one.subject.claims), None)
    return Attempt(
        cluster=cluster,
        subject_uid=one.subject.uid,
        namespace=one.subject.namespace,
        pod_name=one.pod_name,
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


def _forget_oldest(cluster: Cluster, subject_uids: Iterable[str]) -> None:
    for some in _some(subject_uids):
        attempts = Attempt.objects.filter(cluster=cluster, subject_uid__in=some).order_by()
        crowded = attempts.values("subject_uid").annotate(tries=Count("pk"))
        for uid in crowded.filter(tries__gt=KEPT_PER_SUBJECT).values_list("subject_uid", flat=True):
            own = attempts.filter(subject_uid=uid).order_by("-pk")
            excess = own.values_list("pk", flat=True)[KEPT_PER_SUBJECT:]
            Attempt.objects.filter(pk__in=list(excess)).delete()


def _risen_alike(changed: Iterable[_Newest]) -> dict[tuple[int, int, str], list[int]]:
    """Group attempts by what is to be written of them."""
    alike: dict[tuple[int, int, str], list[int]] = {}
    for newest in changed:
        body_digest = newest.body.digest if newest.body is not None else ""
        alike.setdefault((newest.repeats, newest.steps, body_digest), []).append(newest.pk)
    return alike


def _publish(cluster: Cluster, claim_uids: Iterable[str]) -> None:
    topics = [events.claim_topic(cluster.pk, uid) for uid in claim_uids]
    if topics:
        events.publish_on_commit(events.attempts_topic(cluster.pk), *topics)


def _some(each: Iterable[Item]) -> Iterator[list[Item]]:
    """Give a few at a time."""
    rest = iter(each)
    while some := list(islice(rest, ROWS_AT_ONCE)):
        yield some
