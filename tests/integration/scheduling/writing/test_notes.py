"""Which notes of writes go, and which stay."""

from datetime import UTC, datetime

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.claim_status import uid_of
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_result, an_allocated_claim

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
