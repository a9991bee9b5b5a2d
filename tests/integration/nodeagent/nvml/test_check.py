"""`dra-nodeagent --check` and the metrics of a whole agent, on a node with a driver."""

import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.kube.kinds import NODES
from nodeagent.fields import JsonObject
from tests.fake_nvml.machine import FakeMachine
from tests.integration.devclusters import Devcluster
from tests.integration.nodeagent.conftest import AgentMaker
from tests.integration.nodeagent.rig import ApiServer, eventually


def check(machine: FakeMachine, root: Path, *options: str) -> tuple[int, list[str]]:
    """Check a node whose kubelet has the directory `root`; return the status and the lines."""
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "nodeagent", "--node-name", "checked", "--check"),
            *("--driver-root-mounted", str(machine.root), "--kubelet-root", str(root)),
            *("--cdi-dir", str(root / "cdi"), "--host-root", str(root / "host"), *options),
        ],
        check=False,
        capture_output=True,
        text=True,
        env=machine.environment,
        timeout=60,
    )
    return ended.returncode, ended.stdout.splitlines()


def set_status(api_server: ApiServer, node: str, status: JsonObject) -> None:
    """Say of a node what its kubelet would."""
    api_server.client.merge_patch(NODES, node, {"status": status}, subresource="status")


@pytest.fixture
def root() -> Iterator[Path]:
    """Kubelet's directory, with a runtime beside it that looks for CDI files in the right place."""
    # A unix socket's path takes 107 bytes, and pytest's own folders have long names.
    with tempfile.TemporaryDirectory(prefix="ck") as directory:
        root = Path(directory)
        (root / "plugins_registry").mkdir(parents=True)
        file = root / "host/etc/containerd/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            'version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n'
            f'enable_cdi = true\ncdi_spec_dirs = ["{root}/cdi"]\n'
        )
        yield root


def test_a_node_where_all_is_well_has_no_fault_and_nothing_is_written(
    machine: FakeMachine, root: Path, shared_devcluster: Devcluster, api_server: ApiServer
) -> None:
    machine.add("H100-80")
    api_server.make_node("checked")
    info: JsonObject = {
        "kubeletVersion": "v1.37.2",
        "containerRuntimeVersion": "containerd://2.4.0",
    }
    set_status(api_server, "checked", {"nodeInfo": info})
    before = sorted(root.rglob("*"))

    status, lines = check(machine, root, "--kubeconfig", str(shared_devcluster.kubeconfig))

    faults = [line for line in lines if line.startswith("fault")]
    # Devcluster has no access reviews; `tests/cluster/test_agent_rights.py` looks at those.
    assert (status, faults) == (0, []), lines
    assert any(re.match(r"ok +GPUs: 1 by driver .*: gpu-0 NVIDIA H100", line) for line in lines)
    assert sorted(root.rglob("*")) == before


def test_each_thing_that_is_wrong_is_a_line_that_says_what_to_do(
    machine: FakeMachine, root: Path
) -> None:
    machine.add("H100-80")
    (machine.dev / "nvidia-uvm").unlink()
    (root / "plugins_registry").rmdir()
    (root / "host/etc/containerd/config.toml").write_text(
        'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = false\n'
    )

    status, lines = check(machine, root, "--kubeconfig", str(root / "nowhere"))

    said = "\n".join(line for line in lines if line.startswith("fault"))
    assert status == 1
    for words in (
        "device nodes: gpu-0 lacks",
        "nvidia-modprobe -u -c 0",
        "registry: ",
        "is --kubelet-root right",
        "API server: kubeconfig",
        "set `enable_cdi = true`",
    ):
        assert words in said


def test_a_driver_that_is_not_found_is_said_with_the_places_and_a_hint(
    machine: FakeMachine, root: Path
) -> None:
    machine.uninstall()

    status, lines = check(machine, root)

    (line,) = (line for line in lines if line.startswith("fault    driver:"))
    assert status == 1
    assert str(machine.root / "usr/lib64") in line
    assert "PCI tree has no NVIDIA GPU" in line


def test_an_agent_beside_a_device_plugin_publishes_nothing_and_says_so(
    machine: FakeMachine, new_agent: AgentMaker, api_server: ApiServer
) -> None:
    machine.add("H100-80")
    agent = new_agent(
        None, "--driver-root-mounted", str(machine.root), "--metrics-address", "127.0.0.1:0"
    )
    agent.environment = {"FAKE_NVML": str(machine.directory / "nvml")}
    set_status(api_server, agent.node, {"allocatable": {"nvidia.com/gpu": "1"}})

    agent.start()
    agent.wait_until_it_serves()

    (published,) = eventually(lambda: api_server.has_whole_pool(agent.node))
    assert published["spec"].get("devices", []) == []
    (told,) = agent.said("nothing is published beside a device plugin")
    assert told["found"] == "the Node has nvidia.com/gpu: 1"
    port = agent.said("metrics served")[0]["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        metrics = answer.read().decode()
    assert "dra_nodeagent_device_plugin_conflict 1.0" in metrics
    for name in (
        "dra_nodeagent_info{",
        "dra_nodeagent_registered ",
        'dra_nodeagent_slice_writes_total{operation="create"}',
        "dra_nodeagent_driver_workers_started_total 1.0",
        'dra_nodeagent_devices{health="healthy"}',
        "dra_nodeagent_claims_refused_total 0.0",
    ):
        assert name in metrics
