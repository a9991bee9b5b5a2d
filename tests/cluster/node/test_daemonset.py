"""What people run: the Containerfile's image in the DaemonSet of `deploy/`, with simulated GPUs."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from nodeagent import __version__
from tests.cluster.node.pods import Pods, devices_in
from tests.cluster.rig import running_cluster
from tests.cluster.tools import agent_image
from tests.cluster.tools.recipes import locate
from tests.cluster.workloads import PODS, RESOURCES, eventually
from tests.deployment import FOLDER, the
from tests.programs import need

DAEMONSET = the("DaemonSet")["metadata"]
NAMESPACE = DAEMONSET["namespace"]
LABEL = "app.kubernetes.io/name=dra-nodeagent"
CHECK = (
    "dra-nodeagent --node-name=$NODE_NAME --pod-uid=$POD_UID --simulate --profile=h100x8"
    " --host-root=/host --driver-root-mounted=/host --device-status --check"
)
DEVICE_STATUS = {
    "op": "add",
    "path": "/spec/template/spec/containers/0/args/-",
    "value": "--device-status",
}
LARGEST_BYTES = 110_000_000
GPUS = 8
END_SECONDS = 20
"""Half of what the DaemonSet gives an agent to end in."""

ROLLOUT = "--timeout=120s"


@dataclass(slots=True)
class Deployment(Pods):
    """The node, and a folder that says what is applied."""

    folder: Path

    def apply(self) -> None:
        """Do what a person does, and wait until the agent is Ready."""
        self.kubectl("apply", "-k", str(self.folder))
        self.rolled_out()

    def rolled_out(self) -> None:
        """Wait until every agent is Ready and of the newest version, and no other is left."""
        self.kubectl("rollout", "status", f"daemonset/{DAEMONSET['name']}", ROLLOUT)
        eventually(lambda: len(self.agents()) == 1)

    def agents(self) -> list[str]:
        """Return the names of the agents' pods."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={LABEL}"
        return [each["metadata"]["name"] for each in self.cluster.api.get(path)["items"]]

    def kubectl(self, *words: str) -> str:
        """Run a command in the agent's namespace; return what it printed."""
        kubectl = (locate("kubectl"), "--kubeconfig", self.cluster.kubeconfig, "-n", NAMESPACE)
        done = subprocess.run([*kubectl, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def within(self, script: str) -> list[str]:
        """Run a script in the agent's container; return its lines."""
        return self.kubectl("exec", self.agent, "--", "sh", "-c", script).splitlines()

    @property
    def agent(self) -> str:
        """The name of the only agent's pod."""
        (only,) = self.agents()
        return only

    def slices(self) -> set[str]:
        """Return the UIDs of all slices."""
        found = self.cluster.api.get(f"{RESOURCES}/resourceslices")["items"]
        return {each["metadata"]["uid"] for each in found}

    def sockets(self) -> list[str]:
        """Return what kubelet takes for plugins."""
        return [path.name for path in (self.node.kubelet_root / "plugins_registry").iterdir()]


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
    folder = tmp_path_factory.mktemp("deployment")
    base = FOLDER.parent / "node-agent-simulated"
    name, _, tag = agent_image.IMAGE.partition(":")
    written = {
        "resources": [os.path.relpath(base, folder)],
        "images": [{"name": "dra-nodeagent", "newName": name, "newTag": tag}],
        "patches": [{"target": {"kind": "DaemonSet"}, "patch": yaml.safe_dump([DEVICE_STATUS])}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(written))
    with running_cluster(node=True, usual_paths=True) as cluster:
        assert cluster.node is not None
        cluster.node.containerd.import_archive(archive)
        yield Deployment(cluster, folder)


@pytest.fixture
def deployment(_whole: Deployment) -> Iterator[Deployment]:
    """Give a node with a deployed agent and no pod; a test may leave it as it likes."""
    _whole.apply()
    yield _whole
    _whole.apply()
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
    grades = {line: line.split()[0] for line in deployment.within(CHECK)}

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
    slices, before = deployment.slices(), deployment.agent

    deployment.kubectl("rollout", "restart", f"daemonset/{DAEMONSET['name']}")
    pods: list[str] = []
    while len(pods) < GPUS and before in deployment.agents():
        pods.append(f"moment-{len(pods)}")
        deployment.pod(pods[-1])
        deployment.runs(pods[-1])
    deployment.rolled_out()

    assert deployment.agent != before
    assert deployment.slices() == slices
    events = deployment.cluster.api.get(PODS.replace("/pods", "/events"))["items"]
    failed = [each["message"] for each in events if each["reason"].startswith("FailedPrepare")]
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
