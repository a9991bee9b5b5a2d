"""The resourceclaim controller on a real store (`dra-semantics.md` 4.2 and 4.4)."""

import asyncio

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.claims import FINALIZER
from dra_console.devcluster.errors import InvalidError
from dra_console.devcluster.garbage import GarbageCollector
from dra_console.devcluster.resourceclaim_controller import ResourceClaimController
from dra_console.kube.kinds import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from tests.builders.objects import NAMESPACE, a_namespace, a_node, a_pod, a_request, a_template
from tests.integration.devcluster.nodes import (
    SmallCluster,
    eventually,
    metadata_of,
    status_of,
)
from tests.integration.devcluster.stored_cases import store_case


@pytest.fixture
def controller(cluster: SmallCluster) -> ResourceClaimController:
    """A controller that a test runs pass by pass."""
    return ResourceClaimController(cluster.store)


def recorded(pod: JsonObject) -> list[str]:
    """Return the claims that a pod's status names."""
    entries = status_of(pod).get("resourceClaimStatuses", [])
    assert isinstance(entries, list)
    return [str(entry["resourceClaimName"]) for entry in entries if isinstance(entry, dict)]


def generated_names(cluster: SmallCluster, pod: str) -> list[str]:
    return recorded(cluster.pod(pod))


def finish(cluster: SmallCluster, pod: str, *, phase: str = "Succeeded") -> None:
    stored = cluster.pod(pod)
    stored["status"] = {**status_of(stored), "phase": phase}
    cluster.store.update(PODS, stored, subresource="status")


def exists(cluster: SmallCluster, name: str, *, namespace: str = "lab") -> bool:
    names = {
        metadata_of(claim)["name"] for claim in cluster.store.list(RESOURCE_CLAIMS, namespace)[0]
    }
    return name in names


def lab(cluster: SmallCluster, claim: str) -> JsonObject:
    return cluster.store.get(RESOURCE_CLAIMS, "lab", claim)


def consumers(claim: JsonObject) -> list[Json]:
    entries = status_of(claim).get("reservedFor", [])
    assert isinstance(entries, list)
    return [entry["name"] for entry in entries if isinstance(entry, dict)]


class TestTemplates:
    def test_a_claim_is_made_and_named_in_the_pods_status(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        uid = cluster.add_pod("train", template="one-gpu", bound=False)

        controller.sync_all()

        (name,) = generated_names(cluster, "train")
        claim = cluster.claim(name)
        assert name.startswith("train-gpu-")
        assert len(name) == len("train-gpu-") + 5
        assert metadata_of(claim)["ownerReferences"] == [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "train",
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    def test_a_second_pass_makes_no_second_claim(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod("train", template="one-gpu", bound=False)

        controller.sync_all()
        version = cluster.store.resource_version
        controller.sync_all()

        assert cluster.store.resource_version == version

    def test_a_claim_that_was_made_but_not_recorded_is_reused(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod("train", template="one-gpu", bound=False)
        controller.sync_all()
        (name,) = generated_names(cluster, "train")
        pod = cluster.pod("train")
        pod["status"] = {"phase": "Pending"}
        cluster.store.update(PODS, pod, subresource="status")

        controller.sync_all()

        assert generated_names(cluster, "train") == [name]
        assert len(cluster.store.list(RESOURCE_CLAIMS)[0]) == 1

    def test_a_generated_claim_that_vanished_is_made_again(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod("train", template="one-gpu", bound=False)
        controller.sync_all()
        (first,) = generated_names(cluster, "train")
        cluster.store.delete(RESOURCE_CLAIMS, NAMESPACE, first)

        controller.sync_all()

        (second,) = generated_names(cluster, "train")
        assert second != first
        assert cluster.has_claim(second)

    async def test_a_missing_template_is_told_and_tried_again(self, cluster: SmallCluster) -> None:
        await cluster.start()
        cluster.add_pod("train", template="one-gpu", bound=False)
        await eventually(lambda: cluster.events("FailedResourceClaimCreation"))
        message = cluster.messages("FailedResourceClaimCreation")
        assert message.startswith("PodResourceClaim gpu: ")
        assert '"one-gpu" not found' in message

        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())

        await eventually(lambda: generated_names(cluster, "train"))

    def test_a_template_that_its_namespace_forbids_is_told(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        admin = a_namespace("admin-lab")
        metadata_of(admin)["labels"] = {"resource.kubernetes.io/admin-access": "true"}
        cluster.add(NAMESPACES, admin)
        template = a_template(namespace="admin-lab", requests=[a_request(adminAccess=True)])
        cluster.add(RESOURCE_CLAIM_TEMPLATES, template)
        namespace = cluster.store.get(NAMESPACES, "", "admin-lab")
        metadata_of(namespace)["labels"] = {}
        cluster.store.update(NAMESPACES, namespace)
        cluster.add(PODS, a_pod(namespace="admin-lab", template="one-gpu"))

        controller.sync_all()

        assert "admin" in cluster.messages("FailedResourceClaimCreation")

    def test_one_entry_that_cannot_be_made_does_not_hold_up_another(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod(
            "train",
            bound=False,
            resourceClaims=[
                {"name": "nic", "resourceClaimTemplateName": "missing"},
                {"name": "gpu", "resourceClaimTemplateName": "one-gpu"},
            ],
        )

        controller.sync_all()

        assert len(generated_names(cluster, "train")) == 1
        assert "PodResourceClaim nic" in cluster.messages("FailedResourceClaimCreation")

    def test_deleting_the_template_touches_no_claim(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod("train", template="one-gpu", bound=False)
        controller.sync_all()
        names = generated_names(cluster, "train")

        cluster.store.delete(RESOURCE_CLAIM_TEMPLATES, NAMESPACE, "one-gpu")
        controller.sync_all()

        assert generated_names(cluster, "train") == names
        assert cluster.has_claim(names[0])


class TestCleanUp:
    async def test_189_a_generated_claim_is_deleted_when_its_pod_is_done(
        self, cluster: SmallCluster
    ) -> None:
        await cluster.start()
        cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
        cluster.add_pod("train", template="one-gpu", bound=False)
        await eventually(lambda: generated_names(cluster, "train"))
        (name,) = generated_names(cluster, "train")
        cluster.allocate(name, pods=("train",))

        finish(cluster, "train")

        await eventually(lambda: not cluster.has_claim(name))
        assert cluster.has_pod("train")

    def test_190_a_pod_deleted_before_it_was_scheduled_frees_its_claims(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add_claim("mine")
        cluster.add_pod("train", claim="mine", bound=False)
        cluster.allocate("mine", pods=("train",))
        cluster.store.delete(PODS, NAMESPACE, "train")

        controller.sync_all()

        assert status_of(cluster.claim("mine")) == {}

    def test_191_a_claim_deleted_while_in_use_goes_when_the_pod_is_done(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add_claim("mine")
        cluster.add_pod("train", claim="mine")
        cluster.allocate("mine", pods=("train",))
        cluster.store.delete(RESOURCE_CLAIMS, NAMESPACE, "mine")
        controller.sync_all()
        assert "allocation" in status_of(cluster.claim("mine"))

        finish(cluster, "train")
        controller.sync_all()

        assert not cluster.has_claim("mine")

    def test_an_allocated_claim_that_was_never_reserved_stays_allocated(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add_allocated_claim("mine")

        controller.sync_all()

        claim = cluster.claim("mine")
        assert "allocation" in status_of(claim)
        assert metadata_of(claim)["finalizers"] == [FINALIZER]


class TestCases:
    def test_041_a_claim_made_by_hand_is_freed_but_kept(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        store_case(cluster.store, "041-deallocate-after-last-consumer")

        controller.sync_all()

        claim = lab(cluster, "mine")
        assert status_of(claim) == {}
        assert metadata_of(claim).get("finalizers", []) == []

    def test_042_a_generated_claim_goes_although_its_pod_is_still_there(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        store_case(cluster.store, "042-generated-claim-after-completion")

        controller.sync_all()

        assert not exists(cluster, "done-g-abcde")
        assert "allocation" in status_of(lab(cluster, "run-g-abcde"))
        # The claim whose owner is gone is freed here; the garbage collector deletes it.
        assert status_of(lab(cluster, "gone-g-abcde")) == {}
        assert metadata_of(lab(cluster, "gone-g-abcde")).get("finalizers", []) == []

    async def test_042_a_claim_whose_pod_is_gone_is_collected(self, cluster: SmallCluster) -> None:
        # The case names the node only; pods of a node that is not there are collected, too.
        cluster.add(NODES, a_node("node-a"))
        store_case(cluster.store, "042-generated-claim-after-completion")
        await cluster.start()
        collector = asyncio.create_task(GarbageCollector(cluster.store).run())
        try:
            await eventually(lambda: not exists(cluster, "gone-g-abcde"))
        finally:
            collector.cancel()
            await asyncio.wait((collector,))

        assert exists(cluster, "run-g-abcde")

    def test_042_a_missing_claim_of_a_pod_that_runs_is_made_again(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        store_case(cluster.store, "042-generated-claim-after-completion")
        claim = lab(cluster, "run-g-abcde")
        metadata_of(claim)["finalizers"] = []
        cluster.store.update(RESOURCE_CLAIMS, claim)
        cluster.store.delete(RESOURCE_CLAIMS, "lab", "run-g-abcde")

        controller.sync_all()

        (name,) = recorded(cluster.store.get(PODS, "lab", "run"))
        assert name.startswith("run-g-")
        assert exists(cluster, name)

    def test_046_a_pod_with_a_node_is_reserved_where_its_claim_is_allocated(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        store_case(cluster.store, "046-pod-with-node-name")

        controller.sync_all()

        assert consumers(lab(cluster, "got")) == ["uses-allocated"]
        assert status_of(lab(cluster, "free")) == {}

    def test_039_a_257th_consumer_waits_for_a_place(
        self, cluster: SmallCluster, controller: ResourceClaimController
    ) -> None:
        cluster.add_allocated_claim("channel")
        for number in range(258):
            cluster.add_pod(f"w-{number:03}", claim="channel")
        controller.sync_all()
        assert len(cluster.consumers("channel")) == 256
        refused = cluster.messages("FailedResourceClaimReservation").splitlines()
        assert set(refused) == {f"claim {NAMESPACE}/channel has 256 of 256 consumers"}
        assert len(refused) == 2

        finish(cluster, "w-000")
        controller.sync_all()
        controller.sync_all()

        assert len(cluster.consumers("channel")) == 256
        assert "w-000" not in cluster.consumers("channel")
        assert "w-256" in cluster.consumers("channel")
        assert "w-257" not in cluster.consumers("channel")

    def test_039_a_status_with_257_consumers_is_rejected(self, cluster: SmallCluster) -> None:
        store_case(cluster.store, "039-reserved-for-256")
        claim = lab(cluster, "channel")
        entries = status_of(claim)["reservedFor"]
        assert isinstance(entries, list)
        entries.append({"resource": "pods", "name": "w-256", "uid": "one-more"})

        with pytest.raises(InvalidError) as refusal:
            cluster.store.update(RESOURCE_CLAIMS, claim, subresource="status")

        assert [cause.field for cause in refusal.value.causes] == ["status.reservedFor"]
