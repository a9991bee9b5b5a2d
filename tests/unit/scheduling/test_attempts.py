"""What is remembered of tries: folded, bounded for each claim, forgotten with age."""

from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.attempts.bodies import DEVICES_LISTED
from dra_console.scheduling.attempts.record import KEPT_PER_SUBJECT, record
from dra_console.scheduling.attempts.retention import KEPT_AFTER_LAST, forget_old
from dra_console.scheduling.models import Attempt
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_class, a_device, a_node, a_request, a_slice

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

    for seconds in range(3):
        record(claim, a_try(wanted=3), pod_name="", at=NOW + timedelta(seconds=seconds))

    attempt = Attempt.objects.get()
    assert (attempt.repeats, attempt.started_at) == (2, NOW)
    assert attempt.last_at == NOW + timedelta(seconds=2)


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
