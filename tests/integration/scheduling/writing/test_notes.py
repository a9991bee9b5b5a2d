"""Which notes of writes go, and which stay."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing import notes, open_notes
from dra_console.scheduling.writing.claim_status import uid_of
from dra_console.scheduling.writing.open_notes import OpenNotes
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_result, an_allocated_claim
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig="/nowhere")


HELD = an_allocated_claim("train", results=[a_result("gpu-0")])


@pytest.mark.parametrize(
    ("mirrored", "stays"),
    [
        ([], True),
        ([a_claim("train")], True),
        ([an_allocated_claim("train", results=[a_result("gpu-1")])], True),
        ([HELD], False),
    ],
    ids=["nothing", "no-allocation", "the-allocation-before", "the-noted-allocation"],
)
def test_a_note_is_forgotten_once_the_mirror_shows_its_allocation_and_for_nothing_else(
    cluster: Cluster, mirrored: list[JsonObject], *, stays: bool
) -> None:
    notes.note_all(cluster, [HELD], fence=1)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=mirrored, seen_at=datetime.now(UTC))

    notes.forget_shown(cluster, fence=1)

    assert WrittenAllocation.objects.exists() is stays


WRITTEN = at_version(HELD, 7)


@pytest.mark.parametrize(
    ("mirrored", "is_late", "stays"),
    [
        ([], True, True),
        ([at_version(a_claim("train"), 6)], True, True),
        ([WRITTEN], False, False),
        ([at_version(HELD, 8)], False, True),
        ([at_version(HELD, 8)], True, False),
        ([at_version(an_allocated_claim("train", results=[a_result("gpu-1")]), 8)], True, True),
    ],
    ids=["nothing", "before", "written", "after", "after-for-long", "another-allocation"],
)
def test_a_window_forgets_a_note_once_the_mirror_shows_the_version_that_was_written(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    mirrored: list[JsonObject],
    *,
    is_late: bool,
    stays: bool,
) -> None:
    monkeypatch.setattr(open_notes, "LATE_SECONDS", 0.0 if is_late else 60.0)
    notes.note_all(cluster, [HELD], fence=1)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=mirrored, seen_at=datetime.now(UTC))
    kept = OpenNotes()
    kept.stand([WRITTEN])

    for _ in range(2):
        kept.forget_shown(cluster, fence=1)

    assert WrittenAllocation.objects.exists() is stays


def test_a_claim_that_is_noted_anew_keeps_its_note_whatever_was_written_before(
    cluster: Cluster,
) -> None:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[WRITTEN], seen_at=datetime.now(UTC))
    kept = OpenNotes()
    kept.stand([WRITTEN])

    kept.note_anew([uid_of(HELD)])
    notes.note_all(cluster, [HELD], fence=1)
    kept.forget_shown(cluster, fence=1)

    assert WrittenAllocation.objects.exists()


def test_forgetting_asks_for_versions_and_reads_no_object_and_no_note(cluster: Cluster) -> None:
    claims = [at_version(an_allocated_claim(f"train-{n}", results=[]), n) for n in range(3)]
    notes.note_all(cluster, claims, fence=1)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=claims, seen_at=datetime.now(UTC))
    kept = OpenNotes()
    kept.stand(claims)

    with CaptureQueriesContext(connection) as asked:
        kept.forget_shown(cluster, fence=1)

    assert not WrittenAllocation.objects.exists()
    read = [query["sql"] for query in asked if query["sql"].startswith("SELECT")]
    assert len(read) == 1
    assert not any(column in read[0] for column in ('"raw"', '"allocation"'))


def test_of_many_notes_some_are_asked_for_at_a_time_and_each_in_its_turn(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_notes, "ASKED_AT_ONCE", 2)
    claims = [at_version(an_allocated_claim(f"train-{n}", results=[]), n) for n in range(4)]
    notes.note_all(cluster, claims, fence=1)
    # The first two never show.
    apply(cluster, kind=RESOURCE_CLAIMS, objects=claims[2:], seen_at=datetime.now(UTC))
    kept = OpenNotes()
    kept.stand(claims)

    left = []
    for _ in range(2):
        kept.forget_shown(cluster, fence=1)
        left.append(WrittenAllocation.objects.count())

    assert left == [4, 2]


def test_notes_are_what_the_orm_would_have_written_and_replace_those_of_the_same_claims(
    cluster: Cluster,
) -> None:
    at = datetime(2026, 11, 30, 9, 0, 0, 123456, tzinfo=UTC)
    other = an_allocated_claim("eval", results=[a_result('gpu-"1\\')])
    notes.note_all(cluster, [a_claim("train"), other], fence=1)

    notes.note_all(cluster, [HELD], fence=1, now=at)

    replaced = WrittenAllocation.objects.get(claim_uid=uid_of(HELD))
    assert (replaced.raw, replaced.written_at) == (HELD, at)
    assert WrittenAllocation.objects.filter(written_at=at).count() == 1
    assert WrittenAllocation.objects.get(claim_uid=uid_of(other)).raw == other
    assert WrittenAllocation.objects.count() == 2
