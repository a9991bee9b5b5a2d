"""The whole way on a real node: our agent as the driver, kubelet, containerd, CDI, a process."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.agents import running_agent
from tests.cluster.rig import Cluster, Server
from tests.cluster.tools.recipes import locate
from tests.cluster.workloads import (
    CLAIMS,
    PODS,
    RESOURCES,
    a_device_class,
    a_pod,
    a_template,
    claim_of,
    ended,
    eventually,
)


@pytest.fixture(scope="module")
def cluster_options(
    node_programs: None,  # noqa: ARG001 - it skips the tests where they are missing
) -> dict[str, Any]:
    return {"node": True}


@pytest.fixture(scope="module")
def agent(cluster: Cluster) -> Iterator[Server]:
    a_device_class(cluster)
    with running_agent(cluster, profile="l4x4") as running:
        yield running


def log_of(cluster: Cluster, pod: str) -> str:
    """Return what a pod wrote, over the API server and kubelet as a person reads it."""
    finished = subprocess.run(
        [locate("kubectl"), "--kubeconfig", cluster.kubeconfig, "logs", pod],
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout


@pytest.mark.usefixtures("agent")
def test_a_pod_finds_exactly_its_devices_inside(cluster: Cluster) -> None:
    gate = cluster.home.folder / "gate"
    gate.mkdir()
    a_template(cluster, "two", count=2)
    a_pod(
        cluster,
        "looks",
        *("sh", "-c", "env; ls /dev; until test -e /gate/open; do sleep 0.2; done"),
        template="two",
        mounted=gate,
    )

    def running() -> bool:
        return bool(cluster.api.get(f"{PODS}/looks")["status"]["phase"] == "Running")

    eventually(running)
    # Once the pod has ended its claim is deleted.
    claim = claim_of(cluster, "looks")
    assert claim is not None
    (gate / "open").touch()
    phase = eventually(lambda: ended(cluster, "looks"))
    told = log_of(cluster, "looks").split()
    assert phase == "Succeeded", told
    uuids = devices_by_name(cluster)
    results = claim["status"]["allocation"]["devices"]["results"]
    expected = {
        f"DRA_SIMULATED_{each['device'].upper().replace('-', '_')}={uuids[each['device']]}"
        for each in results
    }
    assert len(expected) == 2
    assert {word for word in told if word.startswith("DRA_SIMULATED_")} == expected
    nodes = {f"nvidia{each['device'].removeprefix('gpu-')}" for each in results}
    assert {word for word in told if word.startswith("nvidia")} == nodes


def test_the_claims_file_goes_with_the_pod(cluster: Cluster, agent: Server) -> None:
    assert cluster.node is not None
    files = cluster.node.cdi_directory
    a_template(cluster, "held")
    a_pod(cluster, "holds", "sleep", "3600", template="held")
    eventually(lambda: cluster.api.get(f"{PODS}/holds")["status"]["phase"] == "Running")
    claim = claim_of(cluster, "holds")
    assert claim is not None
    name = f"*{claim['metadata']['uid']}*"
    assert list(files.glob(name))

    # The agent's death and kubelet's change nothing for the pod, and both find their way back.
    agent.kill()
    cluster.node.kubelet.restart()
    agent.start()
    assert list(files.glob(name))
    assert cluster.api.get(f"{PODS}/holds")["status"]["phase"] == "Running"

    cluster.api.delete(f"{PODS}/holds")
    eventually(lambda: not list(files.glob(name)))
    eventually(lambda: not claim_exists(cluster, claim))


def test_nothing_of_a_node_is_seen_on_the_machine(cluster: Cluster) -> None:
    folder = str(cluster.home.folder)
    assert folder not in Path("/proc/self/mounts").read_text()
    assert not Path("/run/containerd").exists() or shutil.which("containerd")


def claim_exists(cluster: Cluster, claim: dict[str, Any]) -> bool:
    names = [each["metadata"]["name"] for each in cluster.api.get(CLAIMS)["items"]]
    return claim["metadata"]["name"] in names


def devices_by_name(cluster: Cluster) -> dict[str, str]:
    """Return the UUID of each published device."""
    return {
        device["name"]: device["attributes"]["uuid"]["string"]
        for each in cluster.api.get(f"{RESOURCES}/resourceslices")["items"]
        for device in each["spec"]["devices"]
    }
