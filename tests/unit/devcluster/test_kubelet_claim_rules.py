"""What the kubelet checks around a prepare call (`node-agent.md` 2.1; cases 046, 062, 063)."""

import pytest

from dra_console.allocator.model import DeviceId, Node
from dra_console.devcluster.claims import LifeCycleClaim
from dra_console.devcluster.kubelet_checkpoint import ClaimState
from dra_console.devcluster.kubelet_claim_rules import (
    ContainerDevice,
    PrepareError,
    check_answers,
    check_claim,
    claim_name,
    container_devices,
)
from dra_console.devcluster.kubelet_plugin import ClaimAnswer, ClaimReference, PreparedDevice
from dra_console.devcluster.pods import Pod, PodClaim
from tests.builders.cases import case_object
from tests.builders.objects import a_pod, an_allocated_claim

NODE_NAME = "046-pod-with-node-name"
SHARED = "062-unprepare-only-by-last-user"
CONTAINERS = "063-container-to-device-mapping"

REFERENCE = ClaimReference("lab", "g", "uid-g")
DRIVER = "gpu.acme.example"


def check(case: str, claim: str, pod: str, *, node: str = "node-a") -> None:
    read = Pod.read(case_object(case, "Pod", pod))
    stored = case_object(case, "ResourceClaim", claim)
    assert isinstance(stored["metadata"], dict)
    stored["metadata"].setdefault("uid", "a-uid")
    check_claim(
        LifeCycleClaim.read(stored),
        pod_claim=read.claims[0],
        pod=read,
        node=Node(node, {"kubernetes.io/hostname": node}),
    )


def test_an_unallocated_claim_is_refused() -> None:
    with pytest.raises(PrepareError, match="lab/free is not allocated"):
        check(NODE_NAME, "free", "uses-free")


def test_a_claim_allocated_on_another_node_is_refused() -> None:
    with pytest.raises(PrepareError, match="lab/got is allocated on other nodes than node-b"):
        check(NODE_NAME, "got", "wrong-node", node="node-b")


def test_a_pod_that_the_claim_is_not_reserved_for_is_refused() -> None:
    with pytest.raises(PrepareError, match="lab/shared is not reserved for pod lab/b"):
        check(SHARED, "shared", "b")


def test_the_consumer_of_an_allocated_claim_may_use_it() -> None:
    check(SHARED, "shared", "a")


def test_a_container_that_names_an_unknown_request_is_refused() -> None:
    with pytest.raises(PrepareError, match=r"container wrong: .* has no request r9"):
        check(CONTAINERS, "g", "q")


def test_a_claim_that_was_made_for_another_pod_is_refused() -> None:
    pod = Pod.read(a_pod(template="one-gpu"))

    with pytest.raises(PrepareError, match="pod is not owner"):
        check_claim(
            LifeCycleClaim.read(an_allocated_claim(pods=("train",))),
            pod_claim=pod.claims[0],
            pod=pod,
            node=Node("gpu-01"),
        )


def test_a_template_claim_that_is_not_recorded_was_not_made_yet() -> None:
    with pytest.raises(PrepareError, match="not created yet"):
        claim_name(PodClaim("gpu", None, "one-gpu"), pod=Pod.read(a_pod(template="one-gpu")))


def test_an_entry_recorded_without_a_claim_needs_none() -> None:
    stored = a_pod(template="one-gpu")
    stored["status"] = {"resourceClaimStatuses": [{"name": "gpu"}]}

    assert claim_name(PodClaim("gpu", None, "one-gpu"), pod=Pod.read(stored)) is None


A_DEVICE = PreparedDevice(("l",), "node-a", "g0", ("k8s.gpu.acme.example/claim=x-g0",))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "lab/g .*missing in the answer"),
        (
            {"uid-g": ClaimAnswer(), "other": ClaimAnswer()},
            "answer for unknown claim other",
        ),
        ({"uid-g": ClaimAnswer(error="device g0 is in use")}, "device g0 is in use"),
        (
            {"uid-g": ClaimAnswer((PreparedDevice((), "", "g0", ()),))},
            "without pool_name or device_name",
        ),
        (
            {"uid-g": ClaimAnswer((PreparedDevice(("l/large",), "node-a", "g0", ()),))},
            "request name with a subrequest: l/large",
        ),
    ],
)
def test_a_broken_answer_is_refused_with_what_is_wrong(
    answers: dict[str, ClaimAnswer], words: str
) -> None:
    with pytest.raises(PrepareError, match=f"driver {DRIVER}: .*{words}|{words}"):
        check_answers(answers, driver=DRIVER, asked=[REFERENCE])


def test_a_complete_answer_is_taken() -> None:
    check_answers({"uid-g": ClaimAnswer((A_DEVICE,))}, driver=DRIVER, asked=[REFERENCE])


@pytest.fixture
def state() -> ClaimState:
    return ClaimState(
        reference=REFERENCE,
        drivers=frozenset({DRIVER}),
        pod_uids=frozenset({"77777777-0000-4000-8000-000000000001"}),
        devices={
            DRIVER: (
                PreparedDevice(("l",), "node-a", "g0", ("v/c=g0",)),
                PreparedDevice(("r",), "node-a", "g1", ("v/c=g1",)),
            )
        },
    )


@pytest.mark.parametrize(
    ("container", "devices"),
    [("none", []), ("whole", ["g0", "g1"]), ("left", ["g0"]), ("init", ["g0", "g1"])],
)
def test_a_container_gets_the_devices_of_the_requests_it_names(
    state: ClaimState, container: str, devices: list[str]
) -> None:
    pod = Pod.read(case_object(CONTAINERS, "Pod", "p"))
    (named,) = (each for each in pod.all_containers if each.name == container)

    found = container_devices(named, pod=pod, states=[state])

    assert [device.device_id.device for device in found] == devices


def test_a_device_without_request_names_serves_every_request(state: ClaimState) -> None:
    pod = Pod.read(case_object(CONTAINERS, "Pod", "p"))
    left = next(each for each in pod.containers if each.name == "left")
    any_request = PreparedDevice((), "node-a", "g7", ())
    shared = ClaimState(REFERENCE, state.drivers, state.pod_uids, {DRIVER: (any_request,)})

    assert list(container_devices(left, pod=pod, states=[shared])) == [
        ContainerDevice("claim:g/l", DeviceId(DRIVER, "node-a", "g7"), ())
    ]


def test_a_claim_of_another_pod_gives_nothing(state: ClaimState) -> None:
    pod = Pod.read(case_object(CONTAINERS, "Pod", "p"))
    foreign = ClaimState(REFERENCE, state.drivers, frozenset({"other"}), state.devices)

    assert not list(container_devices(pod.containers[1], pod=pod, states=[foreign]))
