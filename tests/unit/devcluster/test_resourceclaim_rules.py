"""What the resourceclaim controller decides (`dra-semantics.md` 4.2, 4.4, cases 189 to 192)."""

from collections.abc import Callable

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.claims import FINALIZER, LifeCycleClaim
from dra_console.devcluster.pods import Pod, PodClaim
from dra_console.devcluster.resourceclaim_rules import (
    CleanUp,
    UnknownConsumerError,
    claim_from_template,
    clean_up,
    generate_name,
    generated_claim,
    refusal,
)
from tests.builders.objects import (
    a_claim,
    a_pod,
    a_template,
    a_uid,
    an_allocated_claim,
)

NAMESPACE = "team-research"


def metadata_of(stored: JsonObject) -> JsonObject:
    metadata = stored["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def status_of(stored: JsonObject) -> JsonObject:
    status = stored["status"]
    assert isinstance(status, dict)
    return status


def held_by(*pods: str, deleting: bool = False) -> LifeCycleClaim:
    """An allocated claim with its finalizer, reserved for pods of these names."""
    stored = an_allocated_claim(pods=pods)
    metadata_of(stored)["finalizers"] = [FINALIZER]
    if deleting:
        metadata_of(stored)["deletionTimestamp"] = "2026-11-29T20:00:00Z"
    return LifeCycleClaim.read(stored)


def generated_for(pod: str, *, name: str = "train-gpu-x2k4b", uid: str = "") -> LifeCycleClaim:
    stored = a_claim(name)
    metadata_of(stored)["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    metadata_of(stored)["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod,
            "uid": uid or a_uid(f"Pod/{NAMESPACE}/{pod}"),
            "controller": True,
        }
    ]
    return LifeCycleClaim.read(stored)


def pods(*stored: JsonObject) -> Callable[[str], Pod | None]:
    by_name = {pod.name: pod for pod in map(Pod.read, stored)}
    return by_name.get


def deleting(pod: JsonObject) -> JsonObject:
    metadata_of(pod)["deletionTimestamp"] = "2026-11-29T20:00:00Z"
    return pod


class TestNames:
    def test_a_short_name_ends_with_a_hyphen_for_the_random_part(self) -> None:
        assert generate_name("train", pod_claim_name="gpu") == "train-gpu-"

    def test_a_name_of_57_characters_is_not_cut(self) -> None:
        assert generate_name("p" * 52, pod_claim_name="gpu") == "p" * 52 + "-gpu-"
        assert generate_name("p" * 53, pod_claim_name="gpu") != "p" * 53 + "-gpu-"

    def test_192_both_names_are_cut_in_proportion_and_the_last_hyphen_goes(self) -> None:
        name = generate_name("p" * 60, pod_claim_name="c" * 20)

        assert name == "p" * 41 + "-" + "c" * 13


class TestTemplates:
    def test_a_claim_has_the_templates_spec_labels_and_annotations(self) -> None:
        template = a_template()
        spec = template["spec"]
        assert isinstance(spec, dict)
        spec["metadata"] = {"labels": {"team": "nlp"}, "annotations": {"note": "night run"}}

        claim = claim_from_template(
            template, pod=Pod.read(a_pod(template="one-gpu")), pod_claim_name="gpu"
        )

        assert claim["spec"] == spec["spec"]
        metadata = metadata_of(claim)
        assert metadata["labels"] == {"team": "nlp"}
        assert metadata["annotations"] == {
            "note": "night run",
            "resource.kubernetes.io/pod-claim-name": "gpu",
        }

    def test_the_pod_is_the_claims_controller(self) -> None:
        pod = Pod.read(a_pod(template="one-gpu"))

        claim = claim_from_template(a_template(), pod=pod, pod_claim_name="gpu")

        assert metadata_of(claim)["ownerReferences"] == [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "train",
                "uid": pod.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    def test_the_recorded_claim_is_found_again(self) -> None:
        stored = a_pod(template="one-gpu")
        status_of(stored)["resourceClaimStatuses"] = [
            {"name": "gpu", "resourceClaimName": "train-gpu-recorded"}
        ]
        claims = [generated_for("train"), generated_for("train", name="train-gpu-recorded")]

        found = generated_claim(
            PodClaim("gpu", None, "one-gpu"), pod=Pod.read(stored), claims=claims
        )

        assert found == claims[1]

    def test_a_claim_that_a_crash_left_unrecorded_is_taken(self) -> None:
        claims = [generated_for("train")]

        found = generated_claim(
            PodClaim("gpu", None, "one-gpu"), pod=Pod.read(a_pod()), claims=claims
        )

        assert found == claims[0]

    def test_a_claim_of_an_earlier_pod_of_the_same_name_is_not_taken(self) -> None:
        claims = [generated_for("train", uid=a_uid("an earlier one"))]

        found = generated_claim(
            PodClaim("gpu", None, "one-gpu"), pod=Pod.read(a_pod()), claims=claims
        )

        assert found is None

    def test_a_claim_for_another_entry_is_not_taken(self) -> None:
        found = generated_claim(
            PodClaim("nic", None, "one-nic"),
            pod=Pod.read(a_pod()),
            claims=[generated_for("train")],
        )

        assert found is None


class TestCleanUp:
    def test_a_running_consumer_keeps_its_reservation(self) -> None:
        step = clean_up(held_by("a"), pod_named=pods(a_pod("a", node="gpu-01", phase="Running")))

        assert step == CleanUp()

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_189_the_last_consumers_end_frees_the_devices_but_not_the_claim(
        self, phase: str
    ) -> None:
        step = clean_up(held_by("a"), pod_named=pods(a_pod("a", node="gpu-01", phase=phase)))

        assert step.dropped == {a_uid(f"Pod/{NAMESPACE}/a")}
        assert (step.deallocates, step.removes_finalizer, step.deletes) == (True, True, False)

    def test_one_consumer_of_two_going_leaves_the_devices_allocated(self) -> None:
        step = clean_up(
            held_by("a", "b"),
            pod_named=pods(
                a_pod("a", node="gpu-01", phase="Succeeded"),
                a_pod("b", node="gpu-01", phase="Running"),
            ),
        )

        assert step == CleanUp(dropped=frozenset({a_uid(f"Pod/{NAMESPACE}/a")}))

    def test_a_consumer_that_is_not_there_is_dropped(self) -> None:
        assert clean_up(held_by("a"), pod_named=pods()).dropped == {a_uid(f"Pod/{NAMESPACE}/a")}

    def test_a_pod_of_the_same_name_with_another_uid_is_not_the_consumer(self) -> None:
        successor = a_pod("a", node="gpu-01", phase="Running")
        metadata_of(successor)["uid"] = a_uid("successor")

        assert clean_up(held_by("a"), pod_named=pods(successor)).deallocates

    def test_a_deleted_pod_that_never_had_a_node_is_dropped(self) -> None:
        assert clean_up(held_by("a"), pod_named=pods(deleting(a_pod("a")))).deallocates

    def test_a_bound_pod_that_is_being_deleted_keeps_its_devices(self) -> None:
        terminating = deleting(a_pod("a", node="gpu-01", phase="Running"))

        assert clean_up(held_by("a"), pod_named=pods(terminating)) == CleanUp()

    def test_an_allocated_claim_that_was_never_reserved_is_left_alone(self) -> None:
        assert clean_up(held_by(), pod_named=pods()) == CleanUp()

    def test_a_deleted_claim_that_nobody_uses_gives_up_everything(self) -> None:
        step = clean_up(held_by(deleting=True), pod_named=pods())

        assert step == CleanUp(deallocates=True, removes_finalizer=True)

    def test_a_deleted_claim_in_use_is_kept(self) -> None:
        running = a_pod("a", node="gpu-01", phase="Running")

        assert clean_up(held_by("a", deleting=True), pod_named=pods(running)) == CleanUp()

    def test_a_generated_claim_goes_with_its_pods_work(self) -> None:
        done = a_pod("train", node="gpu-01", phase="Succeeded")

        assert clean_up(generated_for("train"), pod_named=pods(done)).deletes

    def test_a_generated_claim_goes_when_another_pod_has_its_owners_name(self) -> None:
        claim = generated_for("train", uid=a_uid("an earlier one"))

        assert clean_up(claim, pod_named=pods(a_pod("train"))).deletes

    def test_a_generated_claim_without_any_owner_is_the_garbage_collectors(self) -> None:
        assert not clean_up(generated_for("train"), pod_named=pods()).deletes

    def test_a_consumer_of_an_unknown_kind_stops_everything(self) -> None:
        stored = an_allocated_claim(pods=("a",))
        status_of(stored)["reservedFor"] = [
            {"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": "u"}
        ]

        with pytest.raises(UnknownConsumerError, match=r"podgroups\.scheduling\.k8s\.io g"):
            clean_up(LifeCycleClaim.read(stored), pod_named=pods())


class TestReservations:
    def test_a_claim_with_256_consumers_takes_no_more(self) -> None:
        reason = refusal(held_by(*(f"w-{number:03}" for number in range(256))))

        assert reason == "claim team-research/held has 256 of 256 consumers"

    def test_a_claim_that_is_being_deleted_takes_no_consumer(self) -> None:
        assert refusal(held_by(deleting=True)) == "claim team-research/held is being deleted"

    def test_there_is_room_for_the_256th(self) -> None:
        assert refusal(held_by(*(f"w-{number:03}" for number in range(255)))) is None
