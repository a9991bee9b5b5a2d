"""What a deletion takes, and what holds a deleted object."""

import pytest

from dra_console.devcluster.errors import ConflictError, InvalidError, NotFoundError
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NAMESPACES, PODS, RESOURCE_CLAIMS
from tests.unit.devcluster.things import LAB, new_claim, new_pod


def test_delete_removes_and_a_second_one_finds_nothing(store: Store) -> None:
    store.create(RESOURCE_CLAIMS, new_claim())

    store.delete(RESOURCE_CLAIMS, LAB, "gpu")

    with pytest.raises(NotFoundError):
        store.delete(RESOURCE_CLAIMS, LAB, "gpu")


@pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resource_version": "1"}])
def test_delete_with_a_failed_precondition_conflicts(
    store: Store, precondition: dict[str, str]
) -> None:
    store.create(RESOURCE_CLAIMS, new_claim())

    with pytest.raises(ConflictError, match="Precondition failed"):
        store.delete(
            RESOURCE_CLAIMS,
            LAB,
            "gpu",
            uid=precondition.get("uid"),
            resource_version=precondition.get("resource_version"),
        )


def test_finalizer_holds_a_deleted_object_until_it_is_taken_away(store: Store) -> None:
    claim = new_claim()
    metadata_of(claim)["finalizers"] = ["example.com/hold"]
    store.create(RESOURCE_CLAIMS, claim)

    held = store.delete(RESOURCE_CLAIMS, LAB, "gpu")
    assert metadata_of(held)["deletionTimestamp"]
    metadata_of(held)["finalizers"] = []
    store.update(RESOURCE_CLAIMS, held)

    assert store.list(RESOURCE_CLAIMS).items == []


def test_no_finalizer_can_be_added_to_a_deleted_object(store: Store) -> None:
    claim = new_claim()
    metadata_of(claim)["finalizers"] = ["example.com/hold"]
    store.create(RESOURCE_CLAIMS, claim)
    held = store.delete(RESOURCE_CLAIMS, LAB, "gpu")

    metadata_of(held)["finalizers"] = ["example.com/hold", "example.com/late"]
    with pytest.raises(InvalidError, match="no new finalizers can be added"):
        store.update(RESOURCE_CLAIMS, held)


def test_deletion_timestamp_cannot_be_taken_back(store: Store) -> None:
    claim = new_claim()
    metadata_of(claim)["finalizers"] = ["example.com/hold"]
    store.create(RESOURCE_CLAIMS, claim)
    held = store.delete(RESOURCE_CLAIMS, LAB, "gpu")

    del metadata_of(held)["deletionTimestamp"]
    updated = store.update(RESOURCE_CLAIMS, held)

    assert metadata_of(updated)["deletionTimestamp"]


def test_pod_on_a_node_stays_until_the_kubelet_deletes_it(store: Store) -> None:
    store.create(PODS, new_pod(node="gpu-01"))

    leaving = store.delete(PODS, LAB, "trainer")
    assert metadata_of(leaving)["deletionGracePeriodSeconds"] == 30
    assert metadata_of(store.get(PODS, LAB, "trainer"))["deletionTimestamp"]
    store.delete(PODS, LAB, "trainer", grace_period_seconds=0)

    assert store.list(PODS).items == []


def test_second_delete_never_lengthens_the_grace_period(store: Store) -> None:
    store.create(PODS, new_pod(node="gpu-01"))
    store.delete(PODS, LAB, "trainer", grace_period_seconds=5)

    again = store.delete(PODS, LAB, "trainer", grace_period_seconds=60)

    assert metadata_of(again)["deletionGracePeriodSeconds"] == 5


@pytest.mark.parametrize("seconds", [-1, 2**62])
def test_grace_period_without_reason_is_bounded(store: Store, seconds: int) -> None:
    store.create(PODS, new_pod(node="gpu-01", fields={"terminationGracePeriodSeconds": seconds}))

    store.delete(PODS, LAB, "trainer")

    assert store.list(PODS).items == [] or seconds > 0


def test_pod_without_a_node_goes_at_once(store: Store) -> None:
    store.create(PODS, new_pod())

    store.delete(PODS, LAB, "trainer")

    assert store.list(PODS).items == []


def test_finished_pod_goes_at_once(store: Store) -> None:
    pod = store.create(PODS, new_pod(node="gpu-01"))
    store.update(PODS, {**pod, "status": {"phase": "Succeeded"}}, subresource="status")

    store.delete(PODS, LAB, "trainer")

    assert store.list(PODS).items == []


def test_namespace_stays_terminating_until_it_is_finalized(store: Store) -> None:
    held = store.delete(NAMESPACES, "", LAB)
    assert held["status"] == {"phase": "Terminating"}

    store.update(NAMESPACES, {**held, "spec": {"finalizers": []}}, subresource="finalize")

    assert store.list(NAMESPACES).items == []
