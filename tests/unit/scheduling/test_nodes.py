from typing import Any

import pytest

from dra_console.mirror.models import Node, Pod
from dra_console.scheduling.planning.nodes import (
    Candidate,
    NodeUse,
    PodNeeds,
    by_preference,
    requests_of,
    use_of_nodes,
    why_not,
)
from tests.builders.objects import a_node


def a_node_row(name: str = "gpu-01", *, ready: bool | None = True, **spec: Any) -> Node:
    raw: Any = a_node(name)
    raw["spec"] = spec
    raw["status"] = {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "2"}}
    return Node(name=name, ready=ready, unschedulable=spec.get("unschedulable", False), raw=raw)


def a_pod(*, requests: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "work", "resources": {"requests": requests or {}}}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def a_bound_pod(node_name: str, *, phase: str = "Running", requests: dict[str, str]) -> Pod:
    return Pod(node_name=node_name, phase=phase, raw=a_pod(requests=requests))


def refusal(node: Node, pod: dict[str, Any], use: NodeUse) -> str | None:
    return why_not(Candidate(node), PodNeeds(pod), use)


def test_a_ready_node_with_room_takes_the_pod() -> None:
    assert refusal(a_node_row(), a_pod(requests={"cpu": "500m"}), NodeUse()) is None


@pytest.mark.parametrize(
    ("ready", "words"), [(False, "not ready"), (None, "not known")], ids=["not-ready", "unknown"]
)
def test_a_node_that_is_not_known_to_be_ready_takes_no_pod(ready: bool | None, words: str) -> None:
    assert words in (refusal(a_node_row(ready=ready), a_pod(), NodeUse()) or "")


def test_a_cordoned_node_takes_no_pod() -> None:
    assert refusal(a_node_row(unschedulable=True), a_pod(), NodeUse()) == "the node is cordoned"


def test_a_taint_keeps_off_pods_that_do_not_tolerate_it() -> None:
    node = a_node_row(taints=[{"key": "gpu", "value": "only", "effect": "NoSchedule"}])
    tolerating = a_pod(tolerations=[{"key": "gpu", "operator": "Exists"}])

    assert "gpu=only:NoSchedule" in (refusal(node, a_pod(), NodeUse()) or "")
    assert refusal(node, tolerating, NodeUse()) is None


def test_a_taint_that_only_prefers_keeps_nobody_off() -> None:
    node = a_node_row(taints=[{"key": "gpu", "effect": "PreferNoSchedule"}])

    assert refusal(node, a_pod(), NodeUse()) is None


def test_a_node_selector_must_match_the_labels() -> None:
    matching = a_pod(nodeSelector={"kubernetes.io/hostname": "gpu-01"})
    other = a_pod(nodeSelector={"kubernetes.io/hostname": "gpu-02"})

    assert refusal(a_node_row(), matching, NodeUse()) is None
    assert "node selector" in (refusal(a_node_row(), other, NodeUse()) or "")


def test_required_node_affinity_must_match() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-02"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = a_pod(affinity={"nodeAffinity": required})

    assert "affinity" in (refusal(a_node_row("gpu-01"), pod, NodeUse()) or "")
    assert refusal(a_node_row("gpu-02"), pod, NodeUse()) is None


def test_what_running_pods_request_is_not_there_for_others() -> None:
    uses = use_of_nodes([a_bound_pod("gpu-01", requests={"cpu": "3500m"})])

    reason = refusal(a_node_row(), a_pod(requests={"cpu": "1"}), uses["gpu-01"])

    assert reason == "insufficient cpu: 1 wanted, 500m left"


def test_finished_pods_use_nothing() -> None:
    pods = [
        a_bound_pod("gpu-01", phase=phase, requests={"cpu": "4"})
        for phase in ("Succeeded", "Failed")
    ]

    assert use_of_nodes(pods) == {}


def test_the_number_of_pods_is_bounded() -> None:
    uses = use_of_nodes([a_bound_pod("gpu-01", requests={}) for _ in range(2)])

    assert (
        refusal(a_node_row(), a_pod(), uses["gpu-01"]) == "the node runs 2 pods and takes no more"
    )


def test_an_init_container_counts_by_its_maximum() -> None:
    pod = a_pod(requests={"cpu": "1"})
    pod["spec"]["initContainers"] = [{"resources": {"requests": {"cpu": "5"}}}]

    assert "insufficient cpu: 5 wanted" in (refusal(a_node_row(), pod, NodeUse()) or "")


def test_nodes_that_hold_most_devices_come_first() -> None:
    nodes = [a_node_row("a"), a_node_row("b"), a_node_row("c")]

    ordered = by_preference(nodes, held_devices={"b": 3, "c": 1})

    assert [node.name for node in ordered] == ["b", "c", "a"]


def test_a_sidecar_runs_on_beside_all_that_comes_after_it() -> None:
    pod = a_pod(requests={"cpu": "1"}, overhead={"cpu": "250m"})
    pod["spec"]["initContainers"] = [
        {"resources": {"requests": {"cpu": "2"}}},
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "500m"}}},
    ]

    assert str(requests_of(pod)["cpu"]) == "2250m"


def test_an_init_container_that_follows_a_sidecar_counts_with_it() -> None:
    pod = a_pod(requests={"cpu": "1"})
    pod["spec"]["initContainers"] = [
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "3"}}},
    ]

    assert str(requests_of(pod)["cpu"]) == "4"


def test_of_a_pod_whose_requests_cannot_be_read_its_place_is_counted() -> None:
    odd = a_bound_pod("gpu-01", requests={"cpu": "a lot"})

    uses = use_of_nodes([odd, a_bound_pod("gpu-01", requests={"cpu": "1"})])

    assert uses["gpu-01"].pods == 2
    assert str(uses["gpu-01"].requested["cpu"]) == "1"


def test_a_node_that_offers_what_cannot_be_read_takes_no_pod_and_says_so() -> None:
    node = a_node_row()
    node.raw["status"]["allocatable"]["cpu"] = "many"

    assert "'many'" in (refusal(node, a_pod(), NodeUse()) or "")
