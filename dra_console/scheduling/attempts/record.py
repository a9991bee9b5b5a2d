"""Keep what was tried: folded when it says the same, bounded in number, age and size.

Two tries for a pod or claim say the same when outcome, node and sentence agree, numbers aside.
What else changed, such as how many devices are free and who holds the others, is brought up to
date in the newest attempt: on a busy cluster it changes every second, and would push the history
out.

A thousand claims that wait for the same reason are tried in every round. So an explanation is
kept once for all of whom it is true, and repetitions are counted in memory and written every few
seconds, all that rose alike in one statement. A recorder that dies loses the count of those
seconds and nothing else.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import Explanation
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.attempts.bodies import Body
from dra_console.scheduling.attempts.rows import (
    ROWS_AT_ONCE,
    forget_oldest,
    keep,
    publish,
    row_of,
    some_of,
)
from dra_console.scheduling.attempts.subjects import Subject
from dra_console.scheduling.attempts.tries import Try, try_of
from dra_console.scheduling.models import Attempt, TriedClaim

WRITTEN_EVERY: Final = timedelta(seconds=5)
"""Repetitions and news that change no sentence; what says something new is written at once."""

SUBJECTS_REMEMBERED: Final = 50_000
"""By a recorder; then it forgets all, and reads again what it needs."""


@dataclass(slots=True)
class _Newest:
    """The newest attempt of a subject, and what has not been written of it yet."""

    pk: int
    digest: str
    body_digest: str
    repeats: int = 0
    steps: int = 0
    body: Body | None = None
    """Another explanation that says the same."""

    headline: str = ""
    """The sentence with that explanation's numbers."""

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
            newest.body, newest.headline, newest.claim_uids = None, "", ()
        else:
            newest.body, newest.headline = one.body, one.headline
            newest.claim_uids = tuple(claim.uid for claim in one.subject.claims)
        self._unwritten.add(uid)
        return True

    def _read_newest(self, subject_uids: Iterable[str]) -> None:
        for some in some_of(uid for uid in subject_uids if uid not in self._newest):
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
            kept = keep(self._cluster, bodies, at=self._last_at)
            for (rise, steps, body_digest, headline), pks in _risen_alike(changed).items():
                values = {"repeats": F("repeats") + rise, "last_at": self._last_at, "steps": steps}
                if body_digest:
                    values |= {"kept": kept[body_digest], "headline": headline}
                for some in some_of(pks):
                    Attempt.objects.filter(pk__in=some).update(**values)
            if bodies:
                publish(self._cluster, {uid for one in changed for uid in one.claim_uids})
        for newest in changed:
            newest.repeats = 0
            if newest.body is not None:
                newest.body_digest, newest.body = newest.body.digest, None
                newest.headline, newest.claim_uids = "", ()

    def _write_fresh(self, fresh: Mapping[str, Try], *, at: datetime) -> None:
        with transaction.atomic():
            kept = keep(self._cluster, [one.body for one in fresh.values()], at=at)
            for some in some_of(fresh):
                Attempt.objects.filter(
                    cluster=self._cluster, subject_uid__in=some, is_newest=True
                ).update(is_newest=False)
            rows = Attempt.objects.bulk_create(
                (
                    row_of(self._cluster, one, kept=kept[one.body.digest], at=at)
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
            forget_oldest(self._cluster, fresh)
            claims = {claim.uid for one in fresh.values() for claim in one.subject.claims}
            publish(self._cluster, claims)
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


def _risen_alike(changed: Iterable[_Newest]) -> dict[tuple[int, int, str, str], list[int]]:
    """Group attempts by what is to be written of them."""
    alike: dict[tuple[int, int, str, str], list[int]] = {}
    for newest in changed:
        body_digest = newest.body.digest if newest.body is not None else ""
        said = (newest.repeats, newest.steps, body_digest, newest.headline)
        alike.setdefault(said, []).append(newest.pk)
    return alike
