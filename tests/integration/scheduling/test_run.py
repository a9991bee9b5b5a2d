"""Whole scheduling runs: a real API server, mirror rows from its own answers, real leases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_console.leases import lease
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt, WrittenAllocation
from dra_console.scheduling.run import run
from dra_console.scheduling.snapshot import read_snapshot
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_namespace,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    an_allocation,
    unborn,
)
from tests.integration.devclusters import Devcluster, devcluster

__all__ = ["devcluster"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

KINDS = (NAMESPACES, NODES, DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS, PODS)


class World:
    """A cluster with one node of two GPUs, and the mirror of it."""

    def __init__(self, server: Devcluster) -> None:
        self.client = Client.from_kubeconfig(str(server.kubeconfig))
        self.cluster = Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))
        self.create(a_namespace())
        node: Any = unborn(a_node("gpu-01"))
        node["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.create(node)
        self.create(a_class())
        self.create(a_slice(node="gpu-01", devices=[a_device("gpu-0"), a_device("gpu-1")]))

    def create(self, one: JsonObject) -> JsonObject:
        born: Any = unborn(one)
        kind = next(kind for kind in KINDS if kind.kind == born["kind"])
        return self.client.create(kind, born, namespace=born["metadata"].get("namespace"))

    def mirror(self, *kinds: Any) -> None:
        for kind in kinds or KINDS:
            objects = self.client.list(kind).items
            apply(self.cluster, kind=kind, objects=objects, seen_at=datetime.now(UTC))

    def run(self) -> int:
        with lease(f"allocate:{self.cluster.pk}", seconds=15) as held:
            assert held is not None
            return run(self.cluster, held)

    def claim(self, name: str) -> Any:
        return self.client.get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)

    def pod(self, name: str) -> Any:
        return self.client.get(PODS, name, namespace=NAMESPACE)


@pytest.fixture
def world(devcluster: Devcluster) -> World:
    return World(devcluster)


def test_a_waiting_pod_gets_devices_reservation_and_node(world: World) -> None:
    world.create(a_claim("train", requests=[a_request(count=2)]))
    world.create(a_pod("train", claim="train"))
    world.mirror()

    bound = world.run()

    claim, pod = world.claim("train"), world.pod("train")
    results = claim["status"]["allocation"]["devices"]["results"]
    assert bound == 1
    assert pod["spec"]["nodeName"] == "gpu-01"
    assert [result["device"] for result in results] == ["gpu-0", "gpu-1"]
    assert [user["uid"] for user in claim["status"]["reservedFor"]] == [pod["metadata"]["uid"]]
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


def test_a_device_that_was_just_given_is_not_given_again_before_the_mirror_shows_it(
    world: World,
) -> None:
    for name in ("first", "second", "third"):
        world.create(a_claim(name))
        world.create(a_pod(name, claim=name))
    world.mirror()

    bound = world.run() + world.run()

    held = [
        world.claim(name)["status"]["allocation"]["devices"]["results"][0]["device"]
        for name in ("first", "second", "third")
        if world.claim(name).get("status", {}).get("allocation")
    ]
    assert bound == 2
    assert sorted(held) == ["gpu-0", "gpu-1"]


def test_each_pending_claim_has_an_attempt_whoever_schedules_its_pod(world: World) -> None:
    world.create(a_claim("too-many", requests=[a_request(count=5)]))
    world.create(a_pod("too-many", claim="too-many", scheduler="default-scheduler"))
    world.mirror()

    world.run()

    attempt = Attempt.objects.get(claim_name="too-many")
    assert attempt.outcome == "does-not-fit"
    assert attempt.headline
    assert attempt.explanation["funnel"]["considered"] == 2
    assert "nodeName" not in world.pod("too-many")["spec"]


def test_a_node_that_takes_no_pod_is_named_with_its_reason_once(world: World) -> None:
    world.client.merge_patch(NODES, "gpu-01", {"spec": {"unschedulable": True}})
    world.create(a_claim("train"))
    world.create(a_pod("train", claim="train"))
    world.mirror()

    bound = [world.run(), world.run()]

    attempt = Attempt.objects.get(claim_name="train")
    warned = [
        event for event in world.client.list(EVENTS).items if event["reason"] == "FailedScheduling"
    ]
    assert bound == [0, 0]
    assert attempt.headline == "No node may be used: the node is cordoned."
    assert attempt.explanation["funnel"]["node-filter"] == 2
    assert (
        attempt.explanation["nodes"][0]["devices"][0]["evidence"] == "gpu-01: the node is cordoned"
    )
    assert len(warned) == 1


def test_equal_attempts_are_folded(world: World) -> None:
    world.create(a_claim("too-many", requests=[a_request(count=5)]))
    world.mirror()

    for _ in range(3):
        world.run()

    assert [attempt.repeats for attempt in Attempt.objects.all()] == [2]


def test_a_claim_that_somebody_else_changed_is_planned_anew(world: World) -> None:
    world.create(a_claim("train"))
    world.create(a_pod("train", claim="train"))
    world.mirror()
    label: JsonObject = {"metadata": {"labels": {"changed": "meanwhile"}}}
    world.client.merge_patch(RESOURCE_CLAIMS, "train", label, namespace=NAMESPACE)

    dropped = world.run()
    world.mirror()
    bound = world.run()

    assert (dropped, bound) == (0, 1)
    assert world.claim("train")["status"]["allocation"]


def test_a_run_that_ended_before_the_binding_is_finished_by_the_next(world: World) -> None:
    claim: Any = world.create(a_claim("train"))
    pod: Any = world.create(a_pod("train", claim="train"))
    allocation = an_allocation(a_result("gpu-1"), node="gpu-01")
    user = {"resource": "pods", "name": "train", "uid": pod["metadata"]["uid"]}
    claim["status"] = {"allocation": allocation, "reservedFor": [user]}
    world.client.replace(RESOURCE_CLAIMS, claim, subresource="status")
    world.mirror()

    bound = world.run()

    assert bound == 1
    assert world.pod("train")["spec"]["nodeName"] == "gpu-01"
    assert world.claim("train")["status"]["allocation"] == allocation
    assert world.claim("train")["status"]["reservedFor"] == [user]


def test_a_noted_write_counts_until_the_mirror_shows_the_claim_allocated(world: World) -> None:
    world.create(a_claim("train"))
    world.create(a_pod("train", claim="train"))
    world.mirror()
    world.run()

    unseen = read_snapshot(world.cluster).snapshot
    world.mirror(RESOURCE_CLAIMS)
    world.run()

    assert [claim.allocation is not None for claim in unseen.claims] == [True]
    assert not WrittenAllocation.objects.exists()


def test_an_unreadable_slice_hides_its_own_devices_and_nothing_else(world: World) -> None:
    world.mirror()
    broken: Any = a_slice("broken", node="gpu-02")
    broken["spec"]["pool"]["generation"] = "one"
    apply(world.cluster, kind=RESOURCE_SLICES, objects=[broken], seen_at=datetime.now(UTC))

    read = read_snapshot(world.cluster)

    assert [unreadable.name for unreadable in read.unreadable] == ["broken"]
    assert len(read.snapshot.slices) == 1
