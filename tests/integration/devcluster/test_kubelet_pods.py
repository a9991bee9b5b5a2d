"""Pods with claims on a simulated node (`node-agent.md` 2.1; case 062)."""

import json
from dataclasses import replace

from dra_console.devcluster.kubelet_pod_writes import CDI_ANNOTATION
from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.builders.objects import NAMESPACE, a_template
from tests.integration.devcluster.drivers import DRIVER, Driver
from tests.integration.devcluster.nodes import (
    FAST,
    SmallCluster,
    eventually,
    metadata_of,
    status_of,
    uid_of,
)


async def started(cluster: SmallCluster, driver: Driver) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])


def delete(cluster: SmallCluster, pod: str, *, grace_seconds: int | None = None) -> None:
    cluster.store.delete(PODS, NAMESPACE, pod, grace_period_seconds=grace_seconds)


async def test_a_pod_without_claims_runs_without_a_driver(cluster: SmallCluster) -> None:
    await cluster.start()
    cluster.add_pod("a")

    await eventually(lambda: cluster.phase("a") == "Running")


async def test_a_pod_shows_the_cdi_names_of_its_containers(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(lambda: cluster.phase("a") == "Running")

    cdi_id = f"k8s.{DRIVER}/claim={uid}-gpu-0"
    annotations = metadata_of(cluster.pod("a"))["annotations"]
    assert isinstance(annotations, dict)
    assert json.loads(str(annotations[CDI_ANNOTATION])) == {"main": [cdi_id]}
    containers = status_of(cluster.pod("a"))["containerStatuses"]
    assert isinstance(containers, list)
    assert isinstance(containers[0], dict)
    assert containers[0]["allocatedResourcesStatus"] == [
        {"name": "claim:gpu", "resources": [{"resourceID": cdi_id, "health": "Unknown"}]}
    ]


async def test_a_pod_waits_for_a_driver_that_is_not_registered(
    cluster: SmallCluster, driver: Driver
) -> None:
    await cluster.start()
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.events("FailedPrepareDynamicResources"))
    await eventually(lambda: "not registered" in cluster.messages("FailedPrepareDynamicResources"))
    assert cluster.waiting_reason("a") == "ContainerCreating"

    await driver.start()

    await eventually(lambda: cluster.phase("a") == "Running")


async def test_an_unallocated_claim_keeps_the_pod_waiting(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(
        lambda: (
            f"{NAMESPACE}/g is not allocated" in cluster.messages("FailedPrepareDynamicResources")
        )
    )

    assert driver.prepare_calls == []
    assert cluster.phase("a") == "Pending"


async def test_a_pod_on_its_node_waits_for_its_generated_claim(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add(RESOURCE_CLAIM_TEMPLATES, a_template())
    cluster.add_pod("a", template="one-gpu")
    await eventually(lambda: cluster.store.list(RESOURCE_CLAIMS)[0])
    (claim,) = cluster.store.list(RESOURCE_CLAIMS)[0]

    cluster.allocate(str(metadata_of(claim)["name"]))

    await eventually(lambda: cluster.phase("a") == "Running")


async def test_a_prepare_error_is_shown_and_tried_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.fail_prepare = lambda _claim: "device gpu-0 is still in use"
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(
        lambda: "gpu-0 is still in use" in cluster.messages("FailedPrepareDynamicResources")
    )

    driver.fail_prepare = lambda _claim: ""

    await eventually(lambda: cluster.phase("a") == "Running")


async def test_a_repeated_event_is_counted(cluster: SmallCluster, driver: Driver) -> None:
    driver.fail_prepare = lambda _claim: "no"
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    def counts() -> list[int]:
        events = cluster.events("FailedPrepareDynamicResources")
        return [count for event in events if isinstance(count := event["count"], int)]

    await eventually(lambda: max(counts(), default=0) >= 3)

    assert len(counts()) <= 2, "one for the error, one perhaps for the reservation before it"


async def test_a_claim_missing_in_the_answer_is_an_error(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.change_answer = lambda answer: answer.claims.clear()
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(
        lambda: "missing in the answer" in cluster.messages("FailedPrepareDynamicResources")
    )


async def test_an_unknown_claim_in_the_answer_is_an_error(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.change_answer = lambda answer: answer.claims["other"].devices.clear()
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(
        lambda: "unknown claim other" in cluster.messages("FailedPrepareDynamicResources")
    )


async def test_a_driver_that_takes_too_long_is_an_error(
    cluster: SmallCluster, driver: Driver
) -> None:
    cluster.timings = replace(FAST, call_seconds=0.2)
    driver.answer_seconds = 60
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(
        lambda: "DEADLINE_EXCEEDED" in cluster.messages("FailedPrepareDynamicResources")
    )


async def test_a_call_that_deregistration_cuts_off_is_tried_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    cluster.timings = replace(FAST, call_seconds=30)
    driver.answer_seconds = 30
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: driver.prepare_calls)

    driver.registration_socket.unlink()
    await eventually(
        lambda: "was deregistered" in cluster.messages("FailedPrepareDynamicResources")
    )
    driver.answer_seconds = 0
    await driver.register()

    await eventually(lambda: cluster.phase("a") == "Running")


async def test_all_claims_of_a_pod_are_prepared_in_one_call(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_allocated_claim("h")
    cluster.add_pod(
        "a",
        resourceClaims=[
            {"name": "one", "resourceClaimName": "g"},
            {"name": "two", "resourceClaimName": "h"},
        ],
        containers=[{"name": "main", "image": "pause"}],
    )

    await eventually(lambda: cluster.phase("a") == "Running")

    assert driver.prepare_calls == [("g", "h")]


async def test_a_missing_cdi_file_keeps_the_container_from_being_created(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.writes_cdi = False
    await started(cluster, driver)
    uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.waiting_reason("a") == "CreateContainerError")
    assert f"unresolvable CDI devices k8s.{DRIVER}/claim={uid}-gpu-0" in cluster.messages("Failed")
    assert cluster.phase("a") == "Pending"

    driver.write_cdi(uid)

    await eventually(lambda: cluster.phase("a") == "Running")
    assert len(driver.prepare_calls) == 1


async def test_a_deleted_pod_goes_after_its_claims_were_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")
    assert driver.cdi_file(uid).exists()

    delete(cluster, "a")

    await eventually(lambda: not cluster.has_pod("a"))
    assert driver.unprepare_calls == [("g",)]
    assert not driver.cdi_file(uid).exists()
    await eventually(lambda: "allocation" not in status_of(cluster.claim("g")))


async def test_deletion_waits_until_the_driver_takes_the_claim_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")
    driver.fail_unprepare = lambda _claim: "in use by another client"
    delete(cluster, "a")
    await eventually(lambda: "in use by another client" in cluster.messages("FailedKillPod"))
    assert cluster.phase("a") == "Running"
    assert "allocation" in status_of(cluster.claim("g"))

    driver.fail_unprepare = lambda _claim: ""

    await eventually(lambda: not cluster.has_pod("a"))


async def test_deletion_waits_for_a_driver_that_is_away(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")
    await driver.stop()
    delete(cluster, "a")
    await eventually(lambda: "FailedKillPod" in str(cluster.events("FailedKillPod")))
    assert cluster.has_pod("a")

    await driver.start()

    await eventually(lambda: not cluster.has_pod("a"))


async def test_only_the_last_pod_of_a_claim_has_it_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    cluster.add_pod("b", claim="g")
    await eventually(lambda: cluster.phase("a") == cluster.phase("b") == "Running")
    assert driver.prepare_calls == [("g",)]

    delete(cluster, "b")
    await eventually(lambda: not cluster.has_pod("b"))
    assert driver.unprepare_calls == []
    assert driver.cdi_file(uid).exists()

    delete(cluster, "a")
    await eventually(lambda: not cluster.has_pod("a"))
    assert driver.unprepare_calls == [("g",)]


async def test_a_pod_whose_claims_were_never_prepared_goes_without_a_call(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_claim("g")
    cluster.add_pod("b", claim="g")
    await eventually(lambda: cluster.events("FailedPrepareDynamicResources"))

    delete(cluster, "b")

    await eventually(lambda: not cluster.has_pod("b"))
    assert driver.unprepare_calls == []


async def test_a_pod_removed_by_force_has_its_claims_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")

    delete(cluster, "a", grace_seconds=0)

    await eventually(lambda: driver.unprepare_calls == [("g",)])


async def test_a_new_claim_of_an_old_name_waits_until_the_old_is_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    old_uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")
    driver.fail_unprepare = lambda _claim: "busy"
    delete(cluster, "a", grace_seconds=0)
    await eventually(lambda: "allocation" not in status_of(cluster.claim("g")))
    cluster.store.delete(RESOURCE_CLAIMS, NAMESPACE, "g")
    new_uid = cluster.add_allocated_claim("g")
    cluster.add_pod("b", claim="g")
    await eventually(
        lambda: (
            f"other UID {old_uid} is still prepared"
            in cluster.messages("FailedPrepareDynamicResources")
        )
    )

    driver.fail_unprepare = lambda _claim: ""

    await eventually(lambda: cluster.phase("b") == "Running")
    assert driver.cdi_file(new_uid).exists()


async def test_a_pod_that_completes_has_its_claims_taken_back_before_it_says_so(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g", command=("sleep", "0.1"), restartPolicy="Never")
    driver.fail_unprepare = lambda _claim: "busy"
    await eventually(lambda: cluster.events("FailedKillPod"))
    assert cluster.phase("a") == "Running"

    driver.fail_unprepare = lambda _claim: ""

    await eventually(lambda: cluster.phase("a") == "Succeeded")
    await eventually(lambda: "allocation" not in status_of(cluster.claim("g")))
    assert cluster.has_claim("g"), "a claim made by hand stays"


async def test_a_pod_that_exceeds_its_deadline_fails(cluster: SmallCluster) -> None:
    await cluster.start()
    cluster.add_pod("a", activeDeadlineSeconds=1)

    await eventually(lambda: cluster.phase("a") == "Failed")

    assert status_of(cluster.pod("a"))["reason"] == "DeadlineExceeded"


async def test_a_finished_pod_is_removed_when_it_is_deleted(cluster: SmallCluster) -> None:
    await cluster.start()
    cluster.add_pod("a", command=("sleep", "0"), restartPolicy="Never")
    await eventually(lambda: cluster.phase("a") == "Succeeded")

    delete(cluster, "a")

    await eventually(lambda: not cluster.has_pod("a"))


async def test_a_pod_created_anew_under_its_old_name_runs(
    cluster: SmallCluster, driver: Driver
) -> None:
    await started(cluster, driver)
    cluster.add_allocated_claim("g")
    first = cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")

    delete(cluster, "a", grace_seconds=0)
    cluster.add_pod("a")

    await eventually(lambda: cluster.phase("a") == "Running")
    assert uid_of(cluster.pod("a")) != first
