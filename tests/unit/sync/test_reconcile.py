from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import (
    BY_PLURAL,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror.models import (
    Cluster,
    Device,
    DeviceAssignment,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
)
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply, sweep
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_device,
    a_node,
    a_pod,
    a_result,
    a_slice,
    a_uid,
    an_allocated_claim,
    an_allocation,
)
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def see(cluster: Cluster, kind: Kind, *objects: JsonObject, at: datetime = NOON) -> None:
    apply(cluster, kind=kind, objects=objects, seen_at=at)


def lose(cluster: Cluster, kind: Kind, name: str, *, at: datetime = LATER) -> None:
    key = ObjectKey(NAMESPACE if kind.namespaced else "", name)
    apply(cluster, kind=kind, objects=(), gone=(key,), seen_at=at)


def test_an_object_is_mirrored_whole_with_fields_nobody_knows(cluster: Cluster) -> None:
    novelty: Json = {"naïve": ["☃", None, 1.5]}
    claim = {**a_claim(), "fromTheFuture": novelty}

    see(cluster, RESOURCE_CLAIMS, claim)

    assert ResourceClaim.objects.get().raw == claim


def test_a_newer_version_replaces_the_row(cluster: Cluster) -> None:
    see(cluster, RESOURCE_CLAIMS, a_claim())
    before = ResourceClaim.objects.get()

    see(cluster, RESOURCE_CLAIMS, at_version(a_claim(status={"allocation": an_allocation()}), 2))

    after = ResourceClaim.objects.get()
    assert (after.pk, after.resource_version, after.state) == (before.pk, "2", "allocated")


def test_the_last_of_several_versions_counts(cluster: Cluster) -> None:
    see(cluster, NODES, a_node(), {**at_version(a_node(), 2), "spec": {"unschedulable": True}})

    assert Node.objects.get().unschedulable


def test_a_version_that_is_mirrored_already_costs_one_query_and_no_write(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    nodes = [a_node(f"gpu-{number}") for number in range(50)]
    see(cluster, NODES, *nodes)

    with django_assert_num_queries(1):
        see(cluster, NODES, *nodes)


def test_the_number_of_queries_does_not_grow_with_the_batch(
    cluster: Cluster, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    slices = [a_slice(node=f"gpu-{number}") for number in range(40)]

    with django_assert_max_num_queries(25):
        see(cluster, RESOURCE_SLICES, *slices)


def test_an_object_that_is_gone_leaves_no_row(cluster: Cluster) -> None:
    see(cluster, RESOURCE_SLICES, a_slice("one"))

    lose(cluster, RESOURCE_SLICES, "one")

    assert not ResourceSlice.objects.exists()
    assert not Device.objects.exists()


def test_a_full_list_sweeps_what_it_lacks(cluster: Cluster) -> None:
    see(cluster, NODES, a_node("gpu-01"), a_node("gpu-02"))

    sweep(cluster, kind=NODES, listed={ObjectKey("", "gpu-02")}, seen_at=LATER)

    assert [node.name for node in Node.objects.all()] == ["gpu-02"]


def test_a_sweep_leaves_other_clusters_and_kinds_alone(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other")
    see(other, NODES, a_node())
    see(cluster, NODES, a_node())
    see(cluster, RESOURCE_SLICES, a_slice())

    sweep(cluster, kind=NODES, listed=set(), seen_at=LATER)

    assert [node.cluster for node in Node.objects.all()] == [other]
    assert ResourceSlice.objects.count() == 1


def test_the_same_name_in_two_namespaces_is_two_claims(cluster: Cluster) -> None:
    see(cluster, RESOURCE_CLAIMS, a_claim(namespace="a"), a_claim(namespace="b"))

    assert ResourceClaim.objects.count() == 2


def test_an_object_without_identity_is_left_out_and_the_others_are_not(cluster: Cluster) -> None:
    nameless: JsonObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-01"}}

    see(cluster, NODES, nameless, a_node("gpu-02"))

    assert [node.name for node in Node.objects.all()] == ["gpu-02"]


def test_a_character_that_postgresql_cannot_hold_stops_nothing(cluster: Cluster) -> None:
    note: Json = {"note\0": "zero \0 byte, and the text \\u0000"}

    see(cluster, NODES, at_version(a_node(), 1, annotations=note))

    annotations = Node.objects.get().raw["metadata"]["annotations"]
    assert annotations == {"note\ufffd": "zero \ufffd byte, and the text \\u0000"}


class TestPods:
    def test_a_pod_without_claims_that_others_place_is_not_mirrored(self, cluster: Cluster) -> None:
        see(cluster, PODS, a_pod("plain", scheduler="other"), a_pod("gpu", claim="shared"))

        assert [pod.name for pod in Pod.objects.all()] == ["gpu"]

    def test_a_pod_that_is_replaced_by_one_without_claims_leaves(self, cluster: Cluster) -> None:
        see(cluster, PODS, a_pod("train", claim="shared"))

        see(cluster, PODS, at_version(a_pod("train", scheduler="other"), 2, uid="another"))

        assert not Pod.objects.exists()

    @pytest.mark.parametrize("order", [(PODS, RESOURCE_CLAIMS), (RESOURCE_CLAIMS, PODS)])
    def test_a_generated_claim_knows_its_template_whichever_is_seen_first(
        self, cluster: Cluster, order: tuple[Kind, Kind]
    ) -> None:
        owner: Json = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "train",
                "uid": a_uid(f"Pod/{NAMESPACE}/train"),
                "controller": True,
            }
        ]
        note: Json = {"resource.kubernetes.io/pod-claim-name": "gpu"}
        claim = at_version(a_claim("train-gpu-x"), 1, ownerReferences=owner, annotations=note)
        objects = {PODS: a_pod("train", template="one-gpu"), RESOURCE_CLAIMS: claim}

        for kind in order:
            see(cluster, kind, objects[kind])

        assert ResourceClaim.objects.get().template_name == "one-gpu"

    def test_a_pod_of_the_same_name_with_another_uid_is_not_the_owner(
        self, cluster: Cluster
    ) -> None:
        owner: Json = [{"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": "an older pod"}]
        note: Json = {"resource.kubernetes.io/pod-claim-name": "gpu"}
        see(cluster, PODS, a_pod("train", template="one-gpu"))

        see(
            cluster,
            RESOURCE_CLAIMS,
            at_version(a_claim(), 1, ownerReferences=owner, annotations=note),
        )

        assert ResourceClaim.objects.get().template_name == ""


class TestAssignments:
    def test_an_allocation_opens_an_assignment_for_each_device(self, cluster: Cluster) -> None:
        results = [a_result("gpu-0"), a_result("gpu-1", adminAccess=True)]

        see(cluster, RESOURCE_CLAIMS, an_allocated_claim("held", results=results))

        held = DeviceAssignment.objects.order_by("device")
        assert [(row.device, row.admin_access, row.claim_name) for row in held] == [
            ("gpu-0", False, "held"),
            ("gpu-1", True, "held"),
        ]
        assert {row.assigned_at for row in held} == {NOON}

    def test_the_time_of_an_allocation_is_the_one_it_states(self, cluster: Cluster) -> None:
        allocation = an_allocation() | {"allocationTimestamp": "2026-11-29T10:00:00Z"}

        see(cluster, RESOURCE_CLAIMS, a_claim(status={"allocation": allocation}))

        assert DeviceAssignment.objects.get().assigned_at == NOON - timedelta(hours=2)
        assert ResourceClaim.objects.get().allocated_at == NOON - timedelta(hours=2)

    def test_the_time_stays_while_the_allocation_does(self, cluster: Cluster) -> None:
        see(cluster, RESOURCE_CLAIMS, an_allocated_claim())

        see(cluster, RESOURCE_CLAIMS, at_version(an_allocated_claim(pods=("a",)), 2), at=LATER)

        assert ResourceClaim.objects.get().allocated_at == NOON
        assert DeviceAssignment.objects.count() == 1

    def test_a_cleared_allocation_closes_it_and_keeps_the_history(self, cluster: Cluster) -> None:
        see(cluster, RESOURCE_CLAIMS, an_allocated_claim("held"))

        see(cluster, RESOURCE_CLAIMS, at_version(a_claim("held"), 2), at=LATER)

        assert DeviceAssignment.objects.get().released_at == LATER
        assert ResourceClaim.objects.get().allocated_at is None

    def test_a_claim_that_is_gone_holds_nothing(self, cluster: Cluster) -> None:
        see(cluster, RESOURCE_CLAIMS, an_allocated_claim("held"))

        lose(cluster, RESOURCE_CLAIMS, "held")

        assert DeviceAssignment.objects.get().released_at == LATER

    def test_a_claim_made_again_under_its_name_is_another_holder(self, cluster: Cluster) -> None:
        see(cluster, RESOURCE_CLAIMS, an_allocated_claim("held"))

        again = at_version(an_allocated_claim("held"), 2, uid="another")
        see(cluster, RESOURCE_CLAIMS, again, at=LATER)

        first, second = DeviceAssignment.objects.order_by("pk")
        assert (first.released_at, second.released_at) == (LATER, None)
        assert second.claim_uid == "another"
        assert ResourceClaim.objects.get().allocated_at == LATER

    def test_an_allocation_that_moved_between_two_looks_moves_the_assignment(
        self, cluster: Cluster
    ) -> None:
        see(cluster, RESOURCE_CLAIMS, an_allocated_claim("held", results=[a_result("gpu-0")]))

        moved = an_allocated_claim("held", results=[a_result("gpu-5")])
        see(cluster, RESOURCE_CLAIMS, at_version(moved, 2), at=LATER)

        held = DeviceAssignment.objects.filter(released_at=None)
        assert [row.device for row in held] == ["gpu-5"]

    def test_shares_of_one_device_are_told_apart(self, cluster: Cluster) -> None:
        results = [
            a_result("gpu-0", shareID="s1", consumedCapacity={"memory": "10Gi"}),
            a_result("gpu-0", shareID="s2", consumedCapacity={"memory": "20Gi"}),
        ]

        see(cluster, RESOURCE_CLAIMS, an_allocated_claim(results=results))

        held = DeviceAssignment.objects.order_by("share_id")
        assert [(row.share_id, row.consumed_capacity) for row in held] == [
            ("s1", {"memory": "10Gi"}),
            ("s2", {"memory": "20Gi"}),
        ]


def test_every_mirrored_kind_can_be_seen_changed_and_lost(cluster: Cluster) -> None:
    from dra_console.sync.mirrored import MIRRORED

    for plural, mirrored in MIRRORED.items():
        kind = BY_PLURAL[plural]
        namespace: dict[str, Json] = {"namespace": NAMESPACE} if kind.namespaced else {}
        subject: JsonObject = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "one", "uid": "u", "resourceVersion": "1", **namespace},
            "spec": {"resourceClaims": [{"name": "gpu"}]} if kind == PODS else {},
        }

        see(cluster, kind, subject)
        see(cluster, kind, at_version(subject, 2, labels={"a": "b"}))
        assert mirrored.rows(cluster).get().resource_version == "2"

        lose(cluster, kind, "one")
        assert not mirrored.rows(cluster).exists()


def test_a_device_row_keeps_its_identity_while_its_slice_changes(cluster: Cluster) -> None:
    see(cluster, RESOURCE_SLICES, a_slice(devices=[a_device("gpu-0"), a_device("gpu-1")]))
    before = Device.objects.get(name="gpu-1").pk

    changed = a_slice(devices=[a_device("gpu-1", memory="40Gi")])
    see(cluster, RESOURCE_SLICES, at_version(changed, 2))

    device = Device.objects.get()
    assert (device.pk, device.position, device.memory_bytes) == (before, 0, 40 * 2**30)
