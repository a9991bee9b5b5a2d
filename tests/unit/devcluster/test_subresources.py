from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import metadata_of
from dra_console.kube.kinds import PODS
from tests.unit.devcluster.asking import a_cluster, a_request, ask
from tests.unit.devcluster.things import LAB, new_pod, with_namespace

BINDING = f"{PODS.path(LAB, 'trainer')}/binding"
EVICTION = f"{PODS.path(LAB, 'trainer')}/eviction"
TO_NODE: JsonObject = {"target": {"kind": "Node", "name": "gpu-01"}}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = a_cluster(tmp_path)
    with_namespace(cluster.store).create(PODS, new_pod())
    yield cluster
    cluster.store.close()


def test_binding_gives_the_pod_its_node(cluster: Cluster) -> None:
    status, answer = ask(cluster, a_request("POST", BINDING, TO_NODE))

    assert (status, answer["status"]) == (201, "Success")
    pod = cluster.store.get(PODS, LAB, "trainer")
    assert inside(pod, "spec").text("nodeName") == "gpu-01"
    (condition,) = inside(pod, "status").children("conditions")
    assert (condition.text("type"), condition.text("status")) == ("PodScheduled", "True")
    assert inside(pod, "status").text("phase") == "Pending"


def test_pod_is_bound_once(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", BINDING, TO_NODE))

    status, refusal = ask(cluster, a_request("POST", BINDING, TO_NODE))

    assert status == 409
    assert 'already assigned to node "gpu-01"' in str(refusal["message"])


def test_binding_of_another_uid_conflicts(cluster: Cluster) -> None:
    body: JsonObject = {**TO_NODE, "metadata": {"uid": "another"}}

    assert ask(cluster, a_request("POST", BINDING, body))[0] == 409
    assert not inside(cluster.store.get(PODS, LAB, "trainer"), "spec").has("nodeName")


def test_binding_of_another_version_conflicts(cluster: Cluster) -> None:
    now = metadata_of(cluster.store.get(PODS, LAB, "trainer"))["resourceVersion"]
    statuses = []

    for version in ("1", now):
        body: JsonObject = {**TO_NODE, "metadata": {"resourceVersion": version}}
        statuses.append(ask(cluster, a_request("POST", BINDING, body))[0])

    assert statuses == [409, 201]


def test_pod_being_deleted_is_not_bound(cluster: Cluster) -> None:
    pod = cluster.store.get(PODS, LAB, "trainer")
    metadata_of(pod)["finalizers"] = ["example.com/hold"]
    cluster.store.update(PODS, pod)
    cluster.store.delete(PODS, LAB, "trainer")

    status, refusal = ask(cluster, a_request("POST", BINDING, TO_NODE))

    assert status == 409
    assert "is being deleted" in str(refusal["message"])


def test_binding_to_nowhere_is_refused(cluster: Cluster) -> None:
    status, refusal = ask(cluster, a_request("POST", BINDING, {"target": {}}))

    assert status == 400
    assert "target.name" in str(refusal["message"])


def test_dry_binding_binds_nothing(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", BINDING, TO_NODE, query={"dryRun": "All"}))

    assert not inside(cluster.store.get(PODS, LAB, "trainer"), "spec").has("nodeName")


def test_node_of_a_pod_is_set_by_binding_alone(cluster: Cluster) -> None:
    pod = cluster.store.get(PODS, LAB, "trainer")
    inside(pod, "spec").raw["nodeName"] = "gpu-01"

    assert ask(cluster, a_request("PUT", PODS.path(LAB, "trainer"), pod))[0] == 422


def test_eviction_deletes_the_pod(cluster: Cluster) -> None:
    body: JsonObject = {"deleteOptions": {"gracePeriodSeconds": 0}}

    assert ask(cluster, a_request("POST", EVICTION, body))[0] == 201
    assert cluster.store.list(PODS).items == []
