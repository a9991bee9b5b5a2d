"""Writes of a run that ended, arriving after the next run has gone on: none of them happens."""

from dataclasses import dataclass
from typing import Any

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ConflictError
from dra_console.kube.kinds import NAMESPACES, NODES, PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.claim_status import (
    deallocated,
    with_allocation,
    with_finalizer,
    without_reservation,
)
from dra_console.scheduling.writing.commit import write_all
from dra_console.scheduling.writing.open_notes import OpenNotes
from dra_console.scheduling.writing.outcomes import Written
from dra_console.scheduling.writing.plan import Plan, PlannedClaim, PodToBind
from dra_console.scheduling.writing.releasing import free_in_the_way
from dra_console.scheduling.writing.sending import Writer
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_namespace,
    a_node,
    a_pod,
    an_allocation,
    unborn,
)
from tests.integration.devclusters import Devcluster, api_server

__all__ = ["api_server"]

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Held:
    """The allocation lease of the next run."""

    fence: int = 2
    is_lost: bool = False


@pytest.fixture
def client(api_server: Devcluster) -> Client:
    client = Client.from_kubeconfig(str(api_server.kubeconfig))
    client.create(NAMESPACES, unborn(a_namespace()))
    client.create(NODES, unborn(a_node()))
    client.create(RESOURCE_CLAIMS, unborn(a_claim("train")), namespace=NAMESPACE)
    client.create(PODS, unborn(a_pod("train", claim="train")), namespace=NAMESPACE)
    return client


@pytest.fixture
def cluster(api_server: Devcluster) -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig=str(api_server.kubeconfig))


def claim_of(client: Client) -> Any:
    return client.get(RESOURCE_CLAIMS, "train", namespace=NAMESPACE)


def pod_of(client: Client) -> JsonObject:
    return client.get(PODS, "train", namespace=NAMESPACE)


def protected(client: Client) -> JsonObject:
    return client.replace(RESOURCE_CLAIMS, with_finalizer(claim_of(client)))


def reserved(client: Client) -> JsonObject:
    """Allocate the claim and reserve it for the pod, as a run that ended then."""
    pod = PodToBind.of(pod_of(client), node_name="gpu-01")
    body = with_allocation(protected(client), an_allocation(), pod=pod, at=None)
    return client.replace(RESOURCE_CLAIMS, body, subresource="status")


def test_an_allocation_that_was_called_off_does_not_happen(
    client: Client, cluster: Cluster
) -> None:
    late = with_allocation(protected(client), an_allocation(), pod=None, at=None)
    notes.note_all(cluster, [late], fence=1)

    settled = notes.settle(Writer(client, Held()), cluster)

    with pytest.raises(ConflictError):
        client.replace(RESOURCE_CLAIMS, late, subresource="status")
    assert settled.claims == [claim_of(client)]
    assert not settled.doubtful
    assert not WrittenAllocation.objects.exists()


def test_an_allocation_that_happened_stays_noted(client: Client, cluster: Cluster) -> None:
    late = with_allocation(protected(client), an_allocation(), pod=None, at=None)
    notes.note_all(cluster, [late], fence=1)
    client.replace(RESOURCE_CLAIMS, late, subresource="status")

    settled = notes.settle(Writer(client, Held()), cluster)

    assert settled.claims == [claim_of(client)]
    assert WrittenAllocation.objects.exists()


@pytest.mark.parametrize("is_whole", [True, False], ids=["deallocation", "reservation"])
def test_a_bound_pod_loses_nothing_to_whoever_took_it_back_before(
    client: Client, cluster: Cluster, *, is_whole: bool
) -> None:
    held, pod = reserved(client), PodToBind.of(pod_of(client), node_name="gpu-01")
    late = deallocated(held) if is_whole else without_reservation(held, pod.uid)

    plan = Plan([PlannedClaim(held, None)], pod)
    outcomes = write_all(client, cluster, [plan], lease=Held(), open_notes=OpenNotes())

    with pytest.raises(ConflictError):
        client.replace(RESOURCE_CLAIMS, late, subresource="status")
    assert isinstance(outcomes[0], Written)
    assert claim_of(client)["status"]["reservedFor"][0]["uid"] == pod.uid


def test_a_pod_whose_claim_was_taken_back_is_not_bound_by_whoever_planned_with_it_before(
    client: Client, cluster: Cluster
) -> None:
    held, before = reserved(client), PodToBind.of(pod_of(client), node_name="gpu-01")
    waiting = PodToBind.of(pod_of(client), node_name="")

    freed = free_in_the_way(Writer(client, Held()), cluster, held, pod=waiting)

    with pytest.raises(ConflictError):
        client.bind_pod(
            before.namespace,
            before.name,
            node_name=before.node_name,
            uid=before.uid,
            resource_version=before.resource_version,
        )
    assert freed == claim_of(client)
    assert "allocation" not in claim_of(client).get("status", {})
    assert not claim_of(client)["metadata"].get("finalizers")
    assert PodToBind.of(pod_of(client), node_name="gpu-01").disowned_at
