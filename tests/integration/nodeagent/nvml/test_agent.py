"""A whole agent whose driver stops answering: kubelet's limits hold (node-agent.md 9, point 2)."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import pytest

from nodeagent.kubelet.proto import health_v1_pb2 as health
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.conftest import AgentMaker
from tests.integration.nodeagent.rig import (
    AgentProcess,
    ApiServer,
    KubeletSide,
    eventually,
    uid_of,
)

A_MINUTE = 60_000
CALL_SECONDS = 45
INFO_SECONDS = 0.05


@pytest.fixture
def real_agent(new_agent: AgentMaker, machine: FakeMachine) -> AgentProcess:
    """An agent of a node with an A100 whose partitions are made for claims."""
    machine.add("A100-40", mig=1)
    agent = new_agent(None, "--driver-root-mounted", str(machine.root), "--mig-mode", "dynamic")
    agent.environment = {"FAKE_NVML": str(machine.directory / "nvml")}
    agent.start()
    agent.wait_until_it_serves()
    return agent


def devices_of(api_server: ApiServer, node: str) -> list[str]:
    slices = api_server.has_whole_pool(node)
    return [device["name"] for one in slices for device in one["spec"].get("devices", ())]


def test_a_driver_that_hangs_costs_a_claim_an_error_in_time_and_the_agent_nothing(
    real_agent: AgentProcess, api_server: ApiServer, machine: FakeMachine
) -> None:
    kubelet = KubeletSide(real_agent)
    published = eventually(lambda: devices_of(api_server, real_agent.node))
    claim = api_server.allocate("hung", "gpu-0-mig-1g5gb-19-3", node=real_agent.node)
    well = kubelet.health()
    machine.delays["*"] = A_MINUTE
    machine.write()
    began = time.monotonic()

    with ThreadPoolExecutor(1) as thread:
        preparing = thread.submit(kubelet.prepare, claim)
        infos = []
        while not preparing.done():
            asked = time.monotonic()
            kubelet.info()
            infos.append(time.monotonic() - asked)
            time.sleep(1)
        refused = preparing.result()[uid_of(claim)]
    took = time.monotonic() - began

    def is_known_of_no_device() -> bool:
        time.sleep(1)
        return {one.health for one in kubelet.health().values()} == {health.UNKNOWN}

    assert len(published) == 25
    assert "did not answer" in refused.error
    assert took < CALL_SECONDS
    assert median(infos) < INFO_SECONDS
    assert set(well) == set(published)
    assert {one.health for one in well.values()} == {health.HEALTHY}
    eventually(is_known_of_no_device, seconds=began + A_MINUTE / 1000 - time.monotonic())
    assert devices_of(api_server, real_agent.node) == published
    assert real_agent.process.poll() is None


def test_without_a_driver_the_pool_is_empty_until_one_comes(
    new_agent: AgentMaker, api_server: ApiServer, machine: FakeMachine
) -> None:
    machine.add("L4")
    machine.uninstall()
    agent = new_agent(None, "--driver-root-mounted", str(machine.root))
    agent.environment = {"FAKE_NVML": str(machine.directory / "nvml")}
    agent.start()
    agent.wait_until_it_serves()
    eventually(lambda: api_server.has_whole_pool(agent.node))
    assert devices_of(api_server, agent.node) == []

    machine.install()

    assert eventually(lambda: devices_of(api_server, agent.node)) == ["gpu-0"]
    (told,) = agent.said("no gpu driver")
    assert str(machine.root / "usr/lib64") in told["reason"]
