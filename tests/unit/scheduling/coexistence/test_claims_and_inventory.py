"""What is found of claims that do not end, and of devices that are not as they were."""

from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.coexistence.claim_findings import FINALIZER
from dra_console.scheduling.coexistence.findings import FindingKind, Severity
from dra_console.scheduling.names import MANAGED_TAINT_KEY, RESERVE_AHEAD_LABEL
from tests.builders.objects import (
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    an_allocated_claim,
    an_allocation,
)
from tests.unit.scheduling.coexistence.known_worlds import DELETED_AT, deleted, found

TOLERATION: Json = {"key": "gpu.nvidia.com/xid", "operator": "Exists", "tolerationSeconds": 300}


def ready(node: JsonObject, status: str = "True") -> JsonObject:
    return {**node, "status": {"conditions": [{"type": "Ready", "status": status}]}}


def a_managed_rule(**selector: Json) -> JsonObject:
    taint = a_taint(MANAGED_TAINT_KEY, "", "NoSchedule")
    return a_taint_rule("managed", taint=taint, **selector)


def written_by(claim: JsonObject, manager: str) -> JsonObject:
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    fields: Json = {"f:status": {"f:allocation": {"f:devices": {}}}}
    entries: Json = [
        {"manager": "kubectl", "fieldsV1": {"f:spec": {}}},
        {"manager": manager, "subresource": "status", "fieldsV1": fields},
    ]
    return {**claim, "metadata": {**metadata, "managedFields": entries}}


def test_a_published_device_of_a_whole_pool_is_no_finding() -> None:
    for kind in FindingKind:
        objects = (a_node(), a_class(), a_slice(), an_allocated_claim(pods=("train",)))
        pod = a_pod(claim="held", node="gpu-01", phase="Running")
        assert not found(kind, *objects, pod), kind


def test_a_held_device_that_its_driver_published_no_longer_is_found() -> None:
    [finding] = found(
        FindingKind.VANISHED_DEVICE,
        a_slice(devices=[a_device("gpu-1")], generation=2),
        an_allocated_claim(),
    )

    assert finding.facts["generation"] == "2"
    assert finding.device is not None
    assert finding.device.device == "gpu-0"


def test_a_pool_that_is_gone_is_one_finding_with_all_its_claims() -> None:
    claims = [
        an_allocated_claim(name, results=[a_result(device)])
        for name, device in (("a", "gpu-0"), ("b", "gpu-1"))
    ]

    [finding] = found(FindingKind.VANISHED_DEVICE, *claims)

    assert finding.facts == {"devices": "2", "whole_pool": "yes"}
    assert [claim.name for claim in finding.claims] == ["a", "b"]


def test_devices_of_an_older_generation_count_as_gone_once_the_newest_is_whole() -> None:
    old = a_slice("old", devices=[a_device("gpu-0")], generation=1)
    new = a_slice("new", devices=[a_device("gpu-1")], generation=2)

    assert found(FindingKind.VANISHED_DEVICE, old, new, an_allocated_claim())


def test_a_pool_in_part_is_incomplete_and_not_vanished() -> None:
    part = a_slice(slice_count=2)

    [finding] = found(FindingKind.INCOMPLETE_POOL, part, an_allocated_claim())

    assert (finding.facts["seen"], finding.facts["expected"]) == ("1", "2")
    assert not found(FindingKind.VANISHED_DEVICE, part, an_allocated_claim())


def test_a_class_that_is_gone_is_told_of_the_claims_that_name_it() -> None:
    [finding] = found(FindingKind.NO_MATCH, a_slice(), an_allocated_claim())

    assert finding.facts["reason"] == "class gpu.nvidia.com does not exist any more"
    assert finding.severity is Severity.INFORMATION


def test_a_device_that_its_class_does_not_select_any_more_is_told_with_the_selector() -> None:
    narrowed = a_class(selectors=['device.attributes["gpu.nvidia.com"].model == "H200"'])
    published = a_slice(devices=[a_device(attributes={"model": "H100"})])

    [finding] = found(FindingKind.NO_MATCH, published, narrowed, an_allocated_claim())

    assert finding.facts["reason"].startswith("selector 0 of class gpu.nvidia.com does not match")


def test_a_device_that_the_request_does_not_select_any_more_is_told() -> None:
    wanted = a_request(selectors=['device.attributes["gpu.nvidia.com"].model == "H200"'])
    claim = an_allocated_claim()
    claim["spec"] = {"devices": {"requests": [wanted]}}
    published = a_slice(devices=[a_device(attributes={"model": "H100"})])

    [finding] = found(FindingKind.NO_MATCH, published, a_class(), claim)

    assert finding.facts["reason"].startswith("selector 0 of the request does not match")


def test_a_no_execute_taint_on_a_held_device_is_found_by_driver_and_by_rule() -> None:
    own = a_slice(devices=[a_device(taints=[a_taint(effect="NoExecute")])])
    rule = a_taint_rule(taint=a_taint("team/drain", "", "NoExecute"), pool="gpu-01")

    findings = found(FindingKind.NO_EXECUTE, own, rule, an_allocated_claim())

    assert {finding.facts["taint"] for finding in findings} == {
        "gpu.nvidia.com/xid=79:NoExecute",
        "team/drain:NoExecute",
    }
    assert all(finding.severity is Severity.ATTENTION for finding in findings)


def test_a_tolerated_no_execute_taint_tells_for_how_long() -> None:
    own = a_slice(devices=[a_device(taints=[a_taint(effect="NoExecute")])])
    claim = an_allocated_claim(results=[a_result(tolerations=[TOLERATION])])

    [finding] = found(FindingKind.NO_EXECUTE, own, claim)

    assert finding.facts["tolerated"] == "for 300 s"
    assert finding.severity is Severity.INFORMATION


def test_no_schedule_taints_on_held_devices_are_no_finding() -> None:
    own = a_slice(devices=[a_device(taints=[a_taint()])])

    assert not found(FindingKind.NO_EXECUTE, own, an_allocated_claim())


def blocker_of(claim: JsonObject, *objects: JsonObject) -> str:
    [finding] = found(FindingKind.STUCK_DELETION, claim, *objects)
    assert finding.since == DELETED_AT
    return finding.facts["blocker"]


def test_a_deletion_waits_for_a_running_pod() -> None:
    claim = deleted(an_allocated_claim(pods=("train",)), FINALIZER)
    pod = a_pod(node="gpu-01", phase="Running")

    assert blocker_of(claim, pod, ready(a_node())) == "pod"


def test_a_deletion_that_waits_for_a_pod_on_a_vanished_node_says_so() -> None:
    claim = deleted(an_allocated_claim(pods=("train",)), FINALIZER)
    pod = a_pod(node="gpu-01", phase="Running")

    assert blocker_of(claim, pod) == "lost-node"
    assert blocker_of(claim, pod, ready(a_node(), "False")) == "lost-node"


def test_a_deletion_that_waits_for_a_pod_that_is_leaving_says_so() -> None:
    claim = deleted(an_allocated_claim(pods=("train",)), FINALIZER)
    pod = deleted(a_pod(node="gpu-01", phase="Running"))

    assert blocker_of(claim, pod, ready(a_node())) == "leaving-pod"


def test_a_deletion_with_an_unknown_consumer_names_it() -> None:
    claim = an_allocated_claim()
    consumer: Json = {
        "apiGroup": "batch.example",
        "resource": "gangs",
        "name": "g",
        "uid": "1",
    }
    claim["status"] = {"allocation": an_allocation(), "reservedFor": [consumer]}

    [finding] = found(FindingKind.STUCK_DELETION, deleted(claim, FINALIZER))

    assert finding.facts["blocker"] == "unknown-consumer"
    assert finding.pods[0].note == "gangs.batch.example, of which nothing is known"


def test_a_deletion_with_none_but_finished_pods_waits_for_a_controller() -> None:
    claim = deleted(an_allocated_claim(pods=("train", "gone")), FINALIZER)
    pod = a_pod(node="gpu-01", phase="Succeeded")

    assert blocker_of(claim, pod, ready(a_node())) == "no-controller"


def test_a_deletion_that_a_foreign_finalizer_holds_names_it() -> None:
    claim = deleted(an_allocated_claim(), "example.com/billing")

    [finding] = found(FindingKind.STUCK_DELETION, claim)

    assert finding.facts["blocker"] == "finalizer"
    assert finding.facts["finalizers"] == "example.com/billing"


def test_reservations_of_finished_and_vanished_pods_are_stale() -> None:
    claim = an_allocated_claim(pods=("done", "gone", "run"))
    pods = (
        a_pod("done", node="gpu-01", phase="Succeeded"),
        a_pod("run", node="gpu-01", phase="Running"),
    )

    [finding] = found(FindingKind.STALE_RESERVATION, claim, *pods)

    assert [(pod.name, pod.exists) for pod in finding.pods] == [("done", True), ("gone", False)]
    assert (finding.facts["done"], finding.facts["consumers"]) == ("2", "3")


def test_a_pod_of_the_same_name_with_another_uid_does_not_keep_a_reservation() -> None:
    claim = an_allocated_claim(pods=("train",))
    pod = a_pod(node="gpu-01", phase="Running")
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    metadata["uid"] = "another"

    assert found(FindingKind.STALE_RESERVATION, claim, pod)


def test_the_pod_of_an_extended_resource_is_not_taken_for_gone() -> None:
    claim = an_allocated_claim(pods=("train",))
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}

    assert not found(FindingKind.STALE_RESERVATION, claim)


def test_devices_that_nobody_reserved_are_told_and_excused_if_reserved_ahead() -> None:
    ahead = an_allocated_claim("ahead")
    metadata = ahead["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] = {RESERVE_AHEAD_LABEL: "true"}

    [leak] = found(FindingKind.UNRESERVED, an_allocated_claim())
    [excused] = found(FindingKind.UNRESERVED, ahead)

    assert leak.severity is Severity.ATTENTION
    assert excused.severity is Severity.INFORMATION


def test_a_managed_device_that_kube_scheduler_gave_away_is_found() -> None:
    rule = a_managed_rule(pool="gpu-01")

    [finding] = found(
        FindingKind.FOREIGN, rule, a_slice(), written_by(an_allocated_claim(), "kube-scheduler")
    )

    assert finding.facts["scheduler"] == "kube-scheduler"
    assert not found(
        FindingKind.FOREIGN, rule, a_slice(), written_by(an_allocated_claim(), "dra-console")
    )


def test_who_allocated_is_told_by_the_consumers_where_the_server_does_not_say() -> None:
    claim = an_allocated_claim(pods=("train",))
    objects = (a_managed_rule(), a_slice(), claim)

    [finding] = found(FindingKind.FOREIGN, *objects, a_pod(scheduler="default-scheduler"))

    assert finding.facts["scheduler"] == "default-scheduler"
    assert not found(FindingKind.FOREIGN, *objects, a_pod(scheduler="dra-console"))
    assert not found(FindingKind.FOREIGN, *objects)


def test_devices_that_are_not_managed_are_anybodys() -> None:
    claim = written_by(an_allocated_claim(), "kube-scheduler")

    assert not found(FindingKind.FOREIGN, a_managed_rule(pool="gpu-02"), a_slice(), claim)
