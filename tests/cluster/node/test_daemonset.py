"""What people run: the Containerfile's image in the DaemonSet of `deploy/`."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodeagent import __version__
from tests.cluster.node.deployment import (
    DAEMONSET,
    LABEL,
    NAMESPACE,
    SIMULATED,
    Deployment,
    a_variable,
    an_argument,
)
from tests.cluster.node.pods import devices_in
from tests.cluster.rig import running_cluster
from tests.cluster.tools import agent_image
from tests.cluster.workloads import PODS, eventually
from tests.deployment import FOLDER
from tests.fake_nvml.library import SONAME, library_directory
from tests.fake_nvml.machine import FakeMachine
from tests.programs import need

DEVICE_STATUS = an_argument("--device-status")
CHECK = (
    "dra-nodeagent --node-name=$NODE_NAME --pod-uid=$POD_UID --host-root=/host --device-status"
    " --check"
)
SIMULATION = "--simulate --profile=h100x8"
LARGEST_BYTES = 110_000_000
GPUS = 8
END_SECONDS = 20
"""Half of what the DaemonSet gives an agent to end in."""


@pytest.fixture(scope="module")
def archive() -> Path:
    for program in agent_image.PROGRAMS:
        need(program)
    return agent_image.archive(say=print)


@pytest.fixture(scope="module")
def _whole(
    cluster_programs: None,  # noqa: ARG001 - it skips the test where they are missing
    node_programs: None,  # noqa: ARG001 - as above
    archive: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployment]:
    with running_cluster(node=True, usual_paths=True) as cluster:
        assert cluster.node is not None
        cluster.node.containerd.import_archive(archive)
        yield Deployment(cluster, tmp_path_factory.mktemp("deployment"))


@pytest.fixture
def deployment(_whole: Deployment) -> Iterator[Deployment]:
    """Give a node with a deployed agent and no pod; a test may leave it as it likes."""
    _whole.apply(SIMULATED, DEVICE_STATUS)
    yield _whole
    _whole.apply(SIMULATED, DEVICE_STATUS)
    _whole.clear()


def test_the_image_has_all_that_the_agent_needs_and_nothing_to_build_with(
    deployment: Deployment, archive: Path
) -> None:
    assert deployment.within("id -u; dra-nodeagent --version") == ["0", __version__]
    certificates = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"
    assert int(deployment.within(f'python3 -c "{certificates}"')[0]) > 100
    tools = "for tool in pip pip3 cc gcc g++ make; do command -v $tool; done"
    places = "/root/.cache /build /var/cache/apt /var/lib/apt/lists"
    assert not deployment.within(f"{tools}; find {places} -mindepth 1; true")
    assert archive.stat().st_size < LARGEST_BYTES


def test_an_agent_in_its_pod_finds_nothing_amiss_and_writes_nothing_elsewhere(
    deployment: Deployment,
) -> None:
    grades = {line: line.split()[0] for line in deployment.within(f"{CHECK} {SIMULATION}")}

    assert set(grades.values()) == {"ok", "unknown"}, grades
    assert [line.split()[1] for line, grade in grades.items() if grade == "unknown"] == ["driver:"]
    refused = deployment.within("for to in /opt /etc /host; do touch $to/x 2>&1; done; true")
    assert len([line for line in refused if "Read-only file system" in line]) == 3, refused
    # The container's /dev is the host's.
    assert not Path("/dev/termination-log").exists()


def test_pods_go_on_while_the_pod_of_their_nodes_agent_is_replaced(
    deployment: Deployment,
) -> None:
    deployment.pod("stays", gpus=2)
    deployment.runs("stays")
    claim = deployment.claim_of("stays")
    assert deployment.gpus_inside("stays") == set(devices_in(claim))
    told = eventually(lambda: deployment.claim_of("stays")["status"].get("devices", []))
    assert {each["device"] for each in told} == set(devices_in(claim))
    before = deployment.agent
    assert "orbidden" not in deployment.kubectl("logs", before)

    began = time.monotonic()
    deployment.kubectl("delete", "pod", before)
    assert time.monotonic() - began < END_SECONDS

    deployment.rolled_out()
    assert deployment.agent != before
    assert deployment.restarts("stays") == [0]
    deployment.pod("later")
    deployment.runs("later")
    assert deployment.gpus_inside("later") == set(deployment.devices_of("later"))
    deployment.delete("stays")
    eventually(lambda: not deployment.phase("stays"))
    assert not deployment.files_of(claim)


def test_pods_start_at_every_moment_of_a_rolling_update(deployment: Deployment) -> None:
    slices, before = uids(deployment), deployment.agent

    deployment.kubectl("rollout", "restart", f"daemonset/{DAEMONSET['name']}")
    pods: list[str] = []
    while len(pods) < GPUS and before in deployment.agents():
        pods.append(f"moment-{len(pods)}")
        deployment.pod(pods[-1])
        deployment.runs(pods[-1])
    deployment.rolled_out()

    assert deployment.agent != before
    assert uids(deployment) == slices
    events = deployment.cluster.api.get(PODS.replace("/pods", "/events"))["items"]
    failed = [
        each["message"]
        for each in events
        if each["reason"].startswith("FailedPrepare") and each["involvedObject"]["name"] in pods
    ]
    assert not failed
    assert pods
    assert not any(count for pod in pods for count in deployment.restarts(pod))


def test_an_uninstall_leaves_the_namespace_and_nothing_that_blocks(deployment: Deployment) -> None:
    deployment.pod("forgotten")
    deployment.runs("forgotten")

    deployment.kubectl("delete", "-k", str(deployment.folder), "-l", LABEL)

    eventually(lambda: not deployment.agents())
    eventually(lambda: not deployment.slices())
    assert not deployment.sockets()
    assert deployment.cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}")
    assert deployment.restarts("forgotten") == [0]
    deployment.delete("forgotten")
    deployment.pod("early")
    deployment.claim_of("early")
    assert deployment.phase("early") == "Pending"

    deployment.apply()

    eventually(lambda: not deployment.phase("forgotten"))
    deployment.runs("early")
    assert deployment.gpus_inside("early") == set(deployment.devices_of("early"))


def test_a_driver_that_comes_later_to_the_host_is_found_without_a_change(
    deployment: Deployment, tmp_path: Path
) -> None:
    machine = FakeMachine(tmp_path / "machine")
    gpu = machine.add("L4")
    machine.uninstall()
    root = (f"--driver-root={machine.root}", f"--driver-root-mounted=/host{machine.root}")
    environment = a_variable("FAKE_NVML", f"/host{machine.directory}/nvml")

    deployment.apply(FOLDER.name, environment, *map(an_argument, root))

    (fault,) = faults(deployment, *root)
    assert fault.startswith("driver: ")
    assert f"/host{machine.root}/usr/lib64" in fault
    eventually(lambda: not uuids(deployment))

    # A copy: links of the host lead nowhere in the container.
    shutil.copyfile(library_directory() / SONAME, machine.root / "usr/lib64" / SONAME)

    eventually(lambda: uuids(deployment) == {gpu})
    assert not faults(deployment, *root)


def test_an_agent_that_only_watches_is_ready_and_offers_kubelet_nothing(
    deployment: Deployment,
) -> None:
    # There is no console; the agent tries again and again.
    words = ("--console-url=ws://127.0.0.1:1/ws/v1/agents", *SIMULATION.split())

    deployment.apply("node-agent-telemetry", *map(an_argument, words))

    assert not deployment.sockets()
    told = deployment.kubectl("logs", deployment.agent)
    assert "observer started" in told
    assert "console link" in told


def faults(deployment: Deployment, *flags: str) -> list[str]:
    """Return what `--check` with these flags as well says is wrong."""
    # Its status says so, too.
    told = deployment.within(" ".join((CHECK, *flags, "|| true")))
    return [line.partition(" ")[2].strip() for line in told if line.startswith("fault ")]


def uids(deployment: Deployment) -> set[str]:
    return {each["metadata"]["uid"] for each in deployment.slices()}


def uuids(deployment: Deployment) -> set[str]:
    """Return the UUIDs of all published devices."""
    return {
        device["attributes"]["uuid"]["string"]
        for each in deployment.slices()
        for device in each["spec"].get("devices") or ()
    }
