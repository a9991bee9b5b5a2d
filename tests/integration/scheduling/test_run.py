"""Whole scheduling runs: a real API server, mirror rows from its own answers, real leases."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_console.leases import lease
from dra_console.mirror.models import Cluster, ObjectProblem, Pod
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.models import Attempt, WrittenAllocation
from dra_console.scheduling.world.snapshot import read_snapshot
from dra_console.scheduling.writing.turns import hold_turn
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
    an_allocation,
)
from tests.integration.devclusters import Devcluster, api_server
from tests.integration.scheduling.fleet import KINDS, create, make_fleet
from tests.integration.scheduling.once import allocate_once, mirrored_to_the_end

__all__ = ["api_server"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


class World:
    """A cluster with one node of two GPUs, and the mirror of it."""

    def __init__(self, server: Devcluster) -> None:
        self.client = Client.from_kubeconfig(str(server.kubeconfig))
        self.cluster = Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))
        make_fleet(self.client, "gpu-01")

    def create(self, one: JsonObject) -> Any:
        return create(self.client, one)

    def mirror(self, *kinds: Any) -> None:
        for kind in kinds or KINDS:
            objects = self.client.list(kind).items
            apply(self.cluster, kind=kind, objects=objects, seen_at=datetime.now(UTC))
        mirrored_to_the_end(self.cluster)

    def run(self, *, also: Callable[[Resident], None] = lambda _: None) -> int:
        with lease(f"allocate:{self.cluster.pk}", seconds=15) as held:
            assert held is not None
            return allocate_once(self.cluster, held, also=also)

    def claim(self, name: str) -> Any:
        return self.client.get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)

    def pod(self, name: str) -> Any:
        return self.client.get(PODS, name, namespace=NAMESPACE)


@pytest.fixture
def world(api_server: Devcluster) -> World:
    return World(api_server)


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
    (verdict,) = attempt.explanation["groups"][0]["verdicts"]
    assert verdict["evidence"] == "the node is cordoned"
    assert len(warned) == 1


def test_equal_attempts_are_folded(world: World) -> None:
    world.create(a_claim("too-many", requests=[a_request(count=5)]))
    world.mirror()

    for _ in range(3):
        world.run()

    # How often is counted every few seconds, not at once.
    assert Attempt.objects.count() == 1


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


def test_a_run_whose_lease_another_has_had_since_places_nothing(world: World) -> None:
    world.create(a_claim("train"))
    world.create(a_pod("train", claim="train"))
    world.mirror()

    with lease(f"allocate:{world.cluster.pk}", seconds=15) as held:
        assert held is not None
        hold_turn(world.cluster, fence=held.fence + 1)
        bound = allocate_once(world.cluster, held)

    assert bound == 0
    assert "allocation" not in world.claim("train").get("status", {})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda spec: spec.update(resourceClaims=None),
        lambda spec: spec.update(resourceClaims=["gpu"]),
        lambda spec: spec.update(priority="high"),
        lambda spec: spec["containers"][0].update(resources={"requests": {"cpu": "a lot"}}),
        lambda spec: spec.update(tolerations="all", overhead={"cpu": "none"}),
        lambda spec: spec.update(affinity={"nodeAffinity": {REQUIRED_AFFINITY: "gpu-01"}}),
    ],
    ids=["no-list", "no-object", "priority", "cpu", "overhead", "affinity"],
)
def test_a_malformed_pod_keeps_no_other_from_its_devices(
    world: World, spoil: Callable[[dict[str, Any]], None]
) -> None:
    world.client.merge_patch(NODES, "gpu-01", {"status": {"allocatable": {"cpu": "8"}}})
    for name in ("odd", "train"):
        world.create(a_claim(name))
        world.create(a_pod(name, claim=name))
    world.mirror()
    odd = Pod.objects.get(name="odd")
    spoil(odd.raw["spec"])
    odd.raw["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    odd.save()

    world.run(also=lambda resident: resident.pods.put(odd.raw))

    assert world.pod("train")["spec"]["nodeName"] == "gpu-01"
    # One whose priority alone is odd counts as one without.
    is_bound = bool(world.pod("odd")["spec"].get("nodeName"))
    assert is_bound or Attempt.objects.filter(claim_name="odd").exists()


def test_devices_of_an_allocated_claim_that_cannot_be_read_stay_in_use(world: World) -> None:
    odd: Any = an_allocated_claim("odd", results=[a_result("gpu-0")])
    odd["spec"] = {"devices": {"requests": "from the future"}}
    world.create(a_claim("train"))
    world.create(a_pod("train", claim="train"))
    world.mirror()
    apply(world.cluster, kind=RESOURCE_CLAIMS, objects=[odd], seen_at=datetime.now(UTC))

    world.run()

    results = world.claim("train")["status"]["allocation"]["devices"]["results"]
    assert [result["device"] for result in results] == ["gpu-1"]


def test_a_pod_whose_other_claim_is_held_elsewhere_is_not_said_to_fit(world: World) -> None:
    world.create(a_node("gpu-02"))
    held: Any = world.create(a_claim("held"))
    held["status"] = {"allocation": an_allocation(a_result(pool="gpu-02"), node="gpu-02")}
    world.client.replace(RESOURCE_CLAIMS, held, subresource="status")
    world.create(a_claim("train"))
    pod: Any = a_pod("train", claim="train")
    pod["spec"]["resourceClaims"].append({"name": "other", "resourceClaimName": "held"})
    world.create(pod)
    world.mirror()

    bound = world.run()

    attempt = Attempt.objects.get(claim_name="train")
    assert bound == 0
    assert attempt.outcome == "does-not-fit"


def a_pod_with_a_claim_on_a_cordoned_node(world: World) -> JsonObject:
    """Mirror a pod whose claim is allocated on gpu-02, which is cordoned."""
    world.create(a_node("gpu-02"))
    world.client.merge_patch(NODES, "gpu-02", {"spec": {"unschedulable": True}})
    claim = world.create(a_claim("train"))
    pod: JsonObject = world.create(a_pod("train", claim="train"))
    metadata: Any = pod["metadata"]
    claim["status"] = {
        "allocation": an_allocation(a_result(pool="gpu-02"), node="gpu-02"),
        "reservedFor": [{"resource": "pods", "name": "train", "uid": metadata["uid"]}],
    }
    world.client.replace(RESOURCE_CLAIMS, claim, subresource="status")
    world.mirror()
    return pod


def test_a_claim_that_keeps_its_own_pod_from_every_node_is_freed(world: World) -> None:
    a_pod_with_a_claim_on_a_cordoned_node(world)

    world.run()
    world.mirror()

    assert "allocation" not in world.claim("train").get("status", {})
    assert world.run() == 1


def test_a_claim_of_a_pod_that_is_bound_but_not_yet_shown_so_is_not_freed(world: World) -> None:
    pod: Any = a_pod_with_a_claim_on_a_cordoned_node(world)
    world.client.bind_pod(NAMESPACE, "train", node_name="gpu-02", uid=pod["metadata"]["uid"])

    world.run()

    assert world.claim("train")["status"]["allocation"]


def test_what_a_run_cannot_read_is_told_until_it_can(world: World) -> None:
    world.create(a_claim("fine"))
    world.mirror()
    odd: Any = a_claim("odd")
    odd["spec"]["devices"]["requests"][0]["exactly"]["count"] = "many"
    apply(world.cluster, kind=RESOURCE_CLAIMS, objects=[odd], seen_at=datetime.now(UTC))

    world.run()
    [told] = ObjectProblem.objects.all()
    mended: Any = a_claim("odd")
    mended["metadata"]["resourceVersion"] = "2"
    apply(world.cluster, kind=RESOURCE_CLAIMS, objects=[mended], seen_at=datetime.now(UTC))
    world.run()

    assert (told.plural, told.name, told.found_by) == ("resourceclaims", "odd", "allocator")
    assert (told.path, told.message) == (
        "spec.devices.requests[0].exactly.count",
        "expected a whole number, got a text",
    )
    assert not ObjectProblem.objects.exists()
    assert Attempt.objects.filter(claim_name="fine").exists()
