"""The whole way: a template, the scheduler, our agent, kubelet, containerd, CDI, a process."""

from pathlib import Path

from tests.cluster.node.pods import a_container, devices_in
from tests.cluster.node.stage import Stage
from tests.cluster.workloads import eventually

SHOWN_SECONDS = 10
"""Seconds on a busy machine; the console is told by watches and by the agent itself."""

PREPARE_V1 = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"


def test_a_pod_finds_exactly_the_gpus_of_its_template_inside(stage: Stage) -> None:
    stage.pod("looks", gpus=2)
    stage.runs("looks")

    claim = stage.claim_of("looks")
    name = claim["metadata"]["name"]
    assert len(devices_in(claim)) == 2
    assert stage.gpus_inside("looks") == set(devices_in(claim))
    told = dict(word.split("=") for word in stage.inside("looks", "env") if "SIMULATED" in word)
    published = stage.sight.devices()
    assert set(told.values()) == {
        published[device]["attributes"]["uuid"]["string"] for device in devices_in(claim)
    }

    stage.until_shown(lambda: stage.sight.phase("looks") == "Running", within_seconds=SHOWN_SECONDS)
    assert stage.sight.holders() == {device: {name} for device in devices_in(claim)}
    stage.until_shown(lambda: stage.sight.is_prepared(name), within_seconds=SHOWN_SECONDS)


def test_what_a_claim_had_on_the_node_goes_with_its_pod(stage: Stage) -> None:
    stage.pod("goes")
    stage.runs("goes")
    claim = stage.claim_of("goes")
    assert stage.files_of(claim)
    (device,) = devices_in(claim)
    stage.until_shown(lambda: device in stage.sight.holders(), within_seconds=SHOWN_SECONDS)

    stage.delete("goes")

    eventually(lambda: not stage.phase("goes"))
    assert not stage.files_of(claim)
    name = claim["metadata"]["name"]
    stage.until_shown(lambda: name not in stage.sight.claims(), within_seconds=SHOWN_SECONDS)
    assert stage.sight.holders() == {}


def test_a_claim_that_two_pods_share_stays_until_the_second_one_ends(stage: Stage) -> None:
    stage.claim("shared")
    stage.pod("first", claim="shared")
    stage.pod("second", claim="shared")
    stage.runs("first")
    stage.runs("second")
    claim = stage.claim_of("first")
    assert stage.gpus_inside("first") == stage.gpus_inside("second") == set(devices_in(claim))

    def users() -> set[str]:
        shown = stage.sight.claims()["shared"]["status"].get("reservedFor") or []
        return {each["name"] for each in shown}

    stage.until_shown(lambda: users() == {"first", "second"}, within_seconds=SHOWN_SECONDS)

    stage.delete("first")

    eventually(lambda: not stage.phase("first"))
    assert stage.files_of(claim)
    assert stage.gpus_inside("second") == set(devices_in(claim))
    stage.until_shown(lambda: users() == {"second"}, within_seconds=SHOWN_SECONDS)

    stage.delete("second")

    eventually(lambda: not stage.phase("second"))
    assert not stage.files_of(claim)
    # Who made it keeps the claim, but it holds nothing any more.
    stage.until_shown(lambda: stage.sight.holders() == {}, within_seconds=SHOWN_SECONDS)
    assert not users()


def test_two_containers_get_the_gpus_of_their_own_requests_of_one_claim(stage: Stage) -> None:
    stage.claim("split", "left", "right")
    containers = [a_container("one", "left"), a_container("other", "right"), a_container("both")]
    stage.pod("splits", *containers, claim="split")
    stage.runs("splits")

    results = stage.claim_of("splits")["status"]["allocation"]["devices"]["results"]
    by_request = {each["request"]: each["device"] for each in results}
    assert len(set(by_request.values())) == 2
    assert stage.gpus_inside("splits", "one") == {by_request["left"]}
    assert stage.gpus_inside("splits", "other") == {by_request["right"]}
    assert stage.gpus_inside("splits", "both") == set(by_request.values())
    shown = {
        holder["request"]: name
        for name, device in stage.sight.devices().items()
        for holder in device["holders"]
    }
    assert shown == by_request


def test_kubelet_calls_our_v1_service_below_a_root_directory_that_is_not_the_default(
    stage: Stage,
) -> None:
    stage.pod("called")
    stage.runs("called")

    assert stage.node.kubelet_root != Path("/var/lib/kubelet")
    assert (stage.agent.plugin_directory / "checkpoint.json").exists()
    calls = [
        line
        for line in stage.node.kubelet.metrics().splitlines()
        if line.startswith("dra_grpc_operations_duration_seconds_count") and PREPARE_V1 in line
    ]
    assert calls, "kubelet has prepared nothing over v1"


def test_nothing_of_a_node_is_seen_on_the_machine(stage: Stage) -> None:
    assert str(stage.cluster.home.folder) not in Path("/proc/self/mounts").read_text()
