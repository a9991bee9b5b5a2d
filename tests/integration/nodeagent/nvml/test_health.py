"""A whole agent beside a driver in trouble: from the hardware to the slices."""

import json
import time
from collections.abc import Iterator

import pytest

from nodeagent.kubelet.proto import health_v1_pb2 as health
from tests.builders.objects import DRIVER
from tests.fake_nvml.machine import XID, FakeMachine
from tests.integration.nodeagent.conftest import AgentMaker
from tests.integration.nodeagent.kubelet_fake import KubeletFake
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, eventually

pytestmark = pytest.mark.long

A_MINUTE = 60_000
TOLD_WITHIN_SECONDS = 6
UNKNOWN_WITHIN_SECONDS = 60


def taints_of(api_server: ApiServer, node: str) -> dict[str, dict[str, str]]:
    """Return the published taints by device: value and effect by key."""
    return {
        device["name"]: {
            taint["key"].removeprefix(f"{DRIVER}/"): f"{taint.get('value', '')}:{taint['effect']}"
            for taint in device.get("taints", ())
        }
        for one in api_server.has_whole_pool(node)
        for device in one["spec"].get("devices", ())
    }


def statuses(kubelet: KubeletFake) -> dict[str, int]:
    """Return what kubelet was told last of each device."""
    return {device: said.health for device, said in kubelet.health().items()}


@pytest.fixture
def gpus(machine: FakeMachine) -> tuple[str, str]:
    return machine.add("H100-80"), machine.add("H100-80")


@pytest.fixture
def sick_agent(
    new_agent: AgentMaker, machine: FakeMachine, gpus: tuple[str, str], api_server: ApiServer
) -> AgentProcess:
    """An agent of a node with two GPUs, both well so far."""
    assert gpus
    agent = new_agent(None, "--driver-root-mounted", str(machine.root))
    agent.environment = {"FAKE_NVML": str(machine.directory / "nvml")}
    agent.start()
    agent.wait_until_it_serves()
    eventually(lambda: taints_of(api_server, agent.node) == {"gpu-0": {}, "gpu-1": {}})
    return agent


@pytest.fixture
def kubelet(sick_agent: AgentProcess, api_server: ApiServer) -> Iterator[KubeletFake]:
    """A kubelet that watches the health of the agent's devices, which are well so far."""
    watching = KubeletFake(sick_agent.kubelet_root, sick_agent.node, api_server)
    watching.start()
    well = {"gpu-0": health.HEALTHY, "gpu-1": health.HEALTHY}
    eventually(lambda: statuses(watching) == well)
    # Its first act is to wipe the slices.
    eventually(lambda: taints_of(api_server, sick_agent.node) == {"gpu-0": {}, "gpu-1": {}})
    yield watching
    watching.stop()


def test_a_lost_gpu_is_tainted_and_unhealthy_within_seconds_and_well_when_it_is_back(
    kubelet: KubeletFake, api_server: ApiServer, machine: FakeMachine, gpus: tuple[str, str]
) -> None:
    node, began = kubelet.node, time.monotonic()

    machine.change(gpus[0], lost=1)
    lost = {"gpu-0": {"gpu-lost": ":NoSchedule"}, "gpu-1": {}}
    unhealthy = {"gpu-0": health.UNHEALTHY, "gpu-1": health.HEALTHY}
    eventually(lambda: taints_of(api_server, node) == lost and statuses(kubelet) == unhealthy)
    took_seconds = time.monotonic() - began

    assert took_seconds < TOLD_WITHIN_SECONDS
    assert kubelet.health()["gpu-0"].message == "the GPU has fallen off the bus"

    machine.change(gpus[0], lost=0)
    well = {"gpu-0": health.HEALTHY, "gpu-1": health.HEALTHY}
    eventually(lambda: taints_of(api_server, node) == {"gpu-0": {}, "gpu-1": {}})
    eventually(lambda: statuses(kubelet) == well)


def test_a_fault_is_tainted_from_the_first_slice_on_after_a_restart(
    sick_agent: AgentProcess, api_server: ApiServer, machine: FakeMachine, gpus: tuple[str, str]
) -> None:
    machine.raise_event(gpus[1], XID, 79)
    faulty = {"gpu-0": {}, "gpu-1": {"xid": "79:NoSchedule"}}
    eventually(lambda: taints_of(api_server, sick_agent.node) == faulty)
    (kept,) = api_server.slices(sick_agent.node)

    sick_agent.kill()
    state = json.loads((sick_agent.checkpoint.parent / "health.json").read_text())
    sick_agent.start()
    sick_agent.wait_until_it_serves()
    eventually(lambda: len(sick_agent.said("agent started")) == 2)

    assert [one["value"] for one in state["incidents"]] == ["79"]
    # Not written in between: a slice without the taint would have let claims in.
    (still,) = api_server.slices(sick_agent.node)
    assert still["metadata"]["resourceVersion"] == kept["metadata"]["resourceVersion"]


def test_a_driver_that_hangs_makes_its_devices_unknown_within_a_minute(
    kubelet: KubeletFake, api_server: ApiServer, machine: FakeMachine
) -> None:
    began = time.monotonic()
    machine.delays["*"] = A_MINUTE
    machine.write()

    blind = {"unmonitored": "driver-silent:NoSchedule"}
    unknown = {"gpu-0": health.UNKNOWN, "gpu-1": health.UNKNOWN}
    eventually(lambda: statuses(kubelet) == unknown)
    took_seconds = time.monotonic() - began
    eventually(lambda: taints_of(api_server, kubelet.node) == {"gpu-0": blind, "gpu-1": blind})

    assert took_seconds < UNKNOWN_WITHIN_SECONDS

    machine.delays.clear()
    machine.write()
    eventually(lambda: taints_of(api_server, kubelet.node) == {"gpu-0": {}, "gpu-1": {}})
    well = {"gpu-0": health.HEALTHY, "gpu-1": health.HEALTHY}
    eventually(lambda: statuses(kubelet) == well)
