"""Which pods are tried, in which order, and what keeps the others from it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Pod
from dra_console.scheduling.planning.queue import WaitingPod, pending_claims, waiting_pods
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_pod, an_allocated_claim

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


def show_claims(cluster: Cluster, *claims: Any) -> None:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=claims, seen_at=NOW)


def show_pods(cluster: Cluster, *pods: Any) -> None:
    apply(cluster, kind=PODS, objects=pods, seen_at=NOW)


def a_pod_of(
    name: str, *, minute: int = 0, claim: str = "train", scheduler: str = "dra-console", **spec: Any
) -> Any:
    pod: Any = a_pod(name, claim=claim, scheduler=scheduler)
    pod["metadata"]["creationTimestamp"] = f"2026-11-29T20:{minute:02}:00Z"
    pod["spec"] |= spec
    return pod


def names_of(waiting: list[WaitingPod]) -> list[str]:
    return [each.pod.name for each in waiting]


def the_one(waiting: list[WaitingPod]) -> WaitingPod:
    assert len(waiting) == 1
    return waiting[0]


def test_higher_priority_comes_first_then_the_older_pod(cluster: Cluster) -> None:
    show_claims(cluster, a_claim("train"))
    show_pods(
        cluster,
        a_pod_of("young", minute=2),
        a_pod_of("old", minute=1),
        a_pod_of("urgent", minute=3, priority=1000),
        a_pod_of("patient", minute=0, priority=-5),
    )

    assert names_of(waiting_pods(cluster)) == ["urgent", "old", "young", "patient"]


def test_pods_of_other_schedulers_bound_finished_and_gated_ones_do_not_wait(
    cluster: Cluster,
) -> None:
    done = a_pod_of("done")
    done["status"]["phase"] = "Succeeded"
    show_pods(
        cluster,
        a_pod_of("foreign", scheduler="default-scheduler"),
        a_pod_of("bound", nodeName="gpu-01"),
        a_pod_of("gated", schedulingGates=[{"name": "example.com/quota"}]),
        done,
    )

    assert waiting_pods(cluster) == []


def test_a_pod_waits_for_a_claim_that_does_not_exist_yet(cluster: Cluster) -> None:
    show_pods(cluster, a_pod_of("train", claim="later"))

    assert the_one(waiting_pods(cluster)).hindrance == "claim later does not exist yet"


def test_a_pod_waits_for_the_claim_of_its_template(cluster: Cluster) -> None:
    show_pods(cluster, a_pod("train", template="one-gpu"))

    assert the_one(waiting_pods(cluster)).hindrance == "the claim for gpu does not exist yet"


def test_a_pod_gets_the_claim_that_its_status_names(cluster: Cluster) -> None:
    show_claims(cluster, a_claim("train-gpu-x7k2m"))
    pod: Any = a_pod("train", template="one-gpu")
    pod["status"]["resourceClaimStatuses"] = [
        {"name": "gpu", "resourceClaimName": "train-gpu-x7k2m"}
    ]
    show_pods(cluster, pod)

    waiting = the_one(waiting_pods(cluster))

    assert waiting.hindrance == ""
    assert [claim.name for claim in waiting.claims] == ["train-gpu-x7k2m"]


def test_a_claim_of_the_same_name_in_another_namespace_is_not_the_pods(cluster: Cluster) -> None:
    show_claims(cluster, a_claim("train", namespace="elsewhere"))
    show_pods(cluster, a_pod_of("train"))

    assert the_one(waiting_pods(cluster)).hindrance == "claim train does not exist yet"


def test_a_claim_that_is_being_deleted_hinders_its_pod(cluster: Cluster) -> None:
    claim: Any = a_claim("train")
    claim["metadata"]["deletionTimestamp"] = "2026-11-29T20:00:00Z"
    show_claims(cluster, claim)
    show_pods(cluster, a_pod_of("train"))

    assert the_one(waiting_pods(cluster)).hindrance == "claim train is being deleted"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["gpu"], "spec.resourceClaims: expected objects"),
        ([{"name": None}], "spec.resourceClaims[0]: expected names"),
        ([{"name": "gpu", "resourceClaimName": 7}], "spec.resourceClaims[0]: expected names"),
    ],
    ids=["no-object", "no-name", "claim-no-text"],
)
def test_a_malformed_reference_hinders_its_own_pod_and_names_the_field(
    cluster: Cluster, entries: list[Any], words: str
) -> None:
    show_claims(cluster, a_claim("train"))
    show_pods(cluster, a_pod_of("good", minute=1), a_pod_of("odd"))
    odd = Pod.objects.get(cluster=cluster, name="odd")
    odd.raw["spec"]["resourceClaims"] = entries
    odd.save()

    waiting = {each.pod.name: each.hindrance for each in waiting_pods(cluster)}

    assert waiting["good"] == ""
    assert words in waiting["odd"]


def test_a_priority_that_is_no_number_counts_as_none(cluster: Cluster) -> None:
    show_claims(cluster, a_claim("train"))
    show_pods(cluster, a_pod_of("odd", minute=1, priority="high"), a_pod_of("good", priority=1))

    assert names_of(waiting_pods(cluster)) == ["good", "odd"]


def test_claims_without_allocation_are_pending_oldest_first(cluster: Cluster) -> None:
    young, old = a_claim("young"), a_claim("old")
    for claim, minute in ((young, 5), (old, 1)):
        metadata: Any = claim["metadata"]
        metadata["creationTimestamp"] = f"2026-11-29T20:{minute:02}:00Z"
    show_claims(cluster, young, old, an_allocated_claim("held"))

    assert [claim.name for claim in pending_claims(cluster)] == ["old", "young"]
