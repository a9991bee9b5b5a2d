"""What is remembered of tries: folded, bounded for each claim, forgotten with age."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.attempts.bodies import DEVICES_LISTED, body_of
from dra_console.scheduling.attempts.record import COUNTED_EVERY, record_all
from dra_console.scheduling.attempts.retention import KEPT_AFTER_LAST, UNUSED_KEPT, forget_old
from dra_console.scheduling.attempts.rows import KEPT_PER_SUBJECT
from dra_console.scheduling.attempts.subjects import Subject
from dra_console.scheduling.attempts.tries import Try, tries_of
from dra_console.scheduling.models import Attempt, KeptExplanation
from dra_console.sync.reconcile import apply
from tests.builders.attempts import record
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]

SAME_ROOT: JsonObject = {"matchAttribute": "gpu.nvidia.com/pcieRoot"}
NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


def a_claim_row(cluster: Cluster, name: str = "train") -> ResourceClaim:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[a_claim(name)], seen_at=NOW)
    return ResourceClaim.objects.get(cluster=cluster, name=name)


def a_try(*, wanted: int) -> Explanation:
    """Explain a claim for `wanted` of two devices: each number above two is told differently."""
    devices = [a_device("gpu-0"), a_device("gpu-1")]
    snapshot = decode_snapshot([a_node(), a_class(), a_slice(devices=devices)])
    claim = decode_claim(a_claim(requests=[a_request(count=wanted)]))
    return explain(snapshot, [claim])


def test_a_try_that_says_the_same_as_the_newest_is_counted_there(cluster: Cluster) -> None:
    claim = a_claim_row(cluster)

    for minutes in range(3):
        record(claim, a_try(wanted=3), pod_name="", at=NOW + timedelta(minutes=minutes))

    attempt = Attempt.objects.get()
    assert (attempt.repeats, attempt.started_at) == (2, NOW)
    assert attempt.last_at == NOW + timedelta(minutes=2)


def test_a_try_that_says_something_else_stands_beside_the_one_before(cluster: Cluster) -> None:
    claim = a_claim_row(cluster)

    for wanted in (3, 1, 3):
        record(claim, a_try(wanted=wanted), pod_name="", at=NOW)

    outcomes = [attempt.outcome for attempt in Attempt.objects.of(cluster, claim.uid)]
    assert outcomes == ["does-not-fit", "fits", "does-not-fit"]


def test_of_each_claim_the_newest_twenty_are_kept(cluster: Cluster) -> None:
    claim, other = a_claim_row(cluster), a_claim_row(cluster, "other")
    record(other, a_try(wanted=1), pod_name="", at=NOW)

    for number in range(KEPT_PER_SUBJECT + 5):
        at = NOW + timedelta(minutes=number)
        record(claim, a_try(wanted=1 if number % 2 else 3), pod_name="", at=at)

    kept = list(Attempt.objects.of(cluster, claim.uid).values_list("last_at", flat=True))
    assert len(kept) == KEPT_PER_SUBJECT == 20
    assert min(kept) == NOW + timedelta(minutes=5)
    assert Attempt.objects.of(cluster, other.uid).count() == 1


def test_attempts_that_ended_long_ago_are_forgotten_with_their_cluster_only(
    cluster: Cluster,
) -> None:
    elsewhere = a_claim_row(Cluster.objects.create(name="elsewhere"))
    old = NOW - KEPT_AFTER_LAST - timedelta(seconds=1)
    record(a_claim_row(cluster, "old"), a_try(wanted=3), pod_name="", at=old)
    record(a_claim_row(cluster, "young"), a_try(wanted=3), pod_name="", at=NOW - KEPT_AFTER_LAST)
    record(elsewhere, a_try(wanted=3), pod_name="", at=old)

    forgotten = forget_old(cluster, now=NOW)

    left = Attempt.objects.values_list("cluster__name", "claim_name")
    assert forgotten == 1
    assert set(left) == {("test", "young"), ("elsewhere", "train")}


def test_a_stored_explanation_names_so_many_devices_at_most(cluster: Cluster) -> None:
    world = [a_class()]
    for number in range(60):
        devices = [a_device(f"uuid-{number * 100 + gpu}") for gpu in range(50)]
        world += [a_node(f"node-{number}"), a_slice(node=f"node-{number}", devices=devices)]
    claim = decode_claim(a_claim(requests=[a_request(count=31)], constraints=[SAME_ROOT]))

    record(a_claim_row(cluster), explain(decode_snapshot(world), [claim]), pod_name="", at=NOW)

    stored = Attempt.objects.get().explanation
    listed = sum(len(group["devices"] or ()) for group in stored["groups"])
    counted = sum(verdict["count"] for group in stored["groups"] for verdict in group["verdicts"])
    assert listed == DEVICES_LISTED == 2_000
    assert counted == stored["funnel"]["considered"] == 3_000


def tries_for(count: int, *, wanted: int = 3, held: str = "") -> list[Try]:
    """Try so many claims that ask for the same, where one claim may hold a device."""
    devices = [a_device("gpu-0"), a_device("gpu-1")]
    claims = [
        a_claim(f"claim-{number}", requests=[a_request(count=wanted)]) for number in range(count)
    ]
    holders = [an_allocated_claim(held, results=[a_result("gpu-0")])] if held else []
    snapshot = decode_snapshot([a_node(), a_class(), a_slice(devices=devices), *holders])
    subjects = [Subject(NAMESPACE, (decode_claim(claim),)) for claim in claims]
    return list(tries_of(snapshot, subjects))


def test_claims_that_wait_for_the_same_reason_share_one_explanation(cluster: Cluster) -> None:
    fresh = record_all(cluster, tries_for(30), at=NOW)

    assert len(fresh) == Attempt.objects.count() == 30
    assert KeptExplanation.objects.count() == 1
    newest = Attempt.objects.get(claim_name="claim-7")
    assert f"{NAMESPACE}/claim-7" in str(newest.explanation)
    assert list(Attempt.objects.of(cluster, newest.claim_uid)) == [newest]


def test_repetitions_are_counted_once_in_a_few_seconds_and_in_few_statements(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tries = tries_for(30)
    record_all(cluster, tries, at=NOW)

    with django_assert_num_queries(1):
        fresh = record_all(cluster, tries, at=NOW + COUNTED_EVERY / 2)
    uncounted = set(Attempt.objects.values_list("repeats", flat=True))
    with django_assert_num_queries(6):
        record_all(cluster, tries, at=NOW + COUNTED_EVERY)

    assert fresh == []
    assert uncounted == {0}
    assert set(Attempt.objects.values_list("repeats", "last_at")) == {(1, NOW + COUNTED_EVERY)}


def test_a_holder_that_changes_is_brought_up_to_date_in_the_newest_attempt(
    cluster: Cluster,
) -> None:
    record_all(cluster, tries_for(5, wanted=2, held="before"), at=NOW)

    fresh = record_all(cluster, tries_for(5, wanted=2, held="after"), at=NOW + COUNTED_EVERY)

    assert fresh == []
    assert KeptExplanation.objects.count() == 2
    for attempt in Attempt.objects.all():
        assert list(attempt.explanation["holders"][NAMESPACE]) == ["after"]
        assert attempt.repeats == 1


def test_a_sentence_in_which_only_numbers_changed_is_brought_up_to_date(
    cluster: Cluster,
) -> None:
    record_all(cluster, tries_for(5, wanted=3), at=NOW)

    fresh = record_all(cluster, tries_for(5, wanted=3, held="other"), at=NOW + COUNTED_EVERY)

    [headline] = set(Attempt.objects.values_list("headline", flat=True))
    assert fresh == []
    assert "1 of 3" in headline


def test_of_several_attempts_the_newest_is_marked(cluster: Cluster) -> None:
    for minutes, wanted in enumerate((3, 1, 3)):
        record_all(cluster, tries_for(1, wanted=wanted), at=NOW + timedelta(minutes=minutes))

    told = Attempt.objects.order_by("pk").values_list("outcome", "is_newest")
    assert list(told) == [("does-not-fit", False), ("fits", False), ("does-not-fit", True)]


def test_a_pod_has_one_attempt_for_all_its_claims(cluster: Cluster) -> None:
    claims = tuple(decode_claim(a_claim(name)) for name in ("first", "second"))
    pod = Subject(NAMESPACE, claims, pod_uid="uid-of-pod", pod_name="train")
    snapshot = decode_snapshot([a_node(), a_class(), a_slice()])

    record_all(cluster, tries_of(snapshot, [pod]), at=NOW)

    attempt = Attempt.objects.get()
    assert (attempt.pod_name, attempt.claim_names) == ("train", ["first", "second"])
    for claim in claims:
        assert Attempt.objects.latest_of(cluster, claim.uid) == attempt


def test_a_pod_without_any_claim_yet_has_an_attempt_too(cluster: Cluster) -> None:
    pod = Subject(NAMESPACE, (), "uid-of-pod", "train", hindrance="there is no claim gone")

    record_all(cluster, tries_of(decode_snapshot([]), [pod]), at=NOW)

    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.claim_name) == ("waits", "")
    assert attempt.headline == "There is no claim gone."
    assert attempt.explanation["funnel"]["considered"] == 0


def test_an_explanation_that_no_attempt_refers_to_is_forgotten_after_a_while(
    cluster: Cluster,
) -> None:
    record_all(cluster, tries_for(1, wanted=2, held="before"), at=NOW)
    record_all(cluster, tries_for(1, wanted=2, held="after"), at=NOW + COUNTED_EVERY)

    forget_old(cluster, now=NOW + COUNTED_EVERY)
    at_once = KeptExplanation.objects.count()
    forget_old(cluster, now=NOW + UNUSED_KEPT + COUNTED_EVERY)

    assert at_once == 2
    assert KeptExplanation.objects.get().attempts.count() == 1


def test_an_explanation_that_is_too_long_is_cut_and_says_so() -> None:
    world = [a_class()]
    for number in range(400):
        devices = [a_device(f"uuid-{number}-{'x' * 40}-{gpu}") for gpu in range(2)]
        world += [a_node(f"node-{number}"), a_slice(node=f"node-{number}", devices=devices)]
    claim = decode_claim(a_claim(requests=[a_request(count=3, selectors=["has(device.nothing)"])]))

    explanation = explain(decode_snapshot(world), [claim])
    whole = len(json.dumps(explanation.to_json()))
    small = body_of(explanation, outcome="broken", bytes_kept=whole // 3)
    smallest = body_of(explanation, outcome="broken", bytes_kept=1_000)

    assert small.size_bytes <= whole // 3
    assert smallest.shaped["groups"] == []
    for body in (small, smallest):
        assert str(body.shaped["cut"]).startswith("It was too long")
        assert body.shaped["funnel"] == explanation.to_json()["funnel"]
    assert body_of(explanation, outcome="broken").shaped["cut"] == ""
