"""Sharing through a whole agent: from the feature gate on its command line to the CDI file."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeagent.claims.mps import PIPE_VARIABLE
from nodeagent.claims.processes import processes_with
from nodeagent.fields import JsonObject
from tests.builders.objects import DRIVER
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, KubeletSide, uid_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root, as the agent has")

STAND_IN = Path(__file__).parent / "mps_stand_in.py"
GATES = "--feature-gates=TimeSlicingSettings=true,MPSSupport=true"


def shared_claim(
    api_server: ApiServer, agent: AgentProcess, device: str, strategy: str
) -> JsonObject:
    """Allocate a device to a claim whose class asks for a way of sharing."""
    parameters: JsonObject = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": strategy},
    }
    opaque: JsonObject = {"driver": DRIVER, "parameters": parameters}
    config: JsonObject = {"source": "FromClass", "opaque": opaque}
    return api_server.allocate(f"{agent.node}-{device}", device, node=agent.node, config=config)


def test_an_mps_daemon_outlives_its_agent_and_ends_with_its_claim(
    new_agent: Callable[..., AgentProcess], api_server: ApiServer, tmp_path: Path
) -> None:
    program = tmp_path / "control"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {STAND_IN} "$@"\n')
    program.chmod(0o755)
    agent = new_agent("h100x8", GATES, "--mps-control", str(program))
    agent.start()
    agent.wait_until_it_serves()
    claim = shared_claim(api_server, agent, "gpu-0", "MPS")
    uid = uid_of(claim)

    assert KubeletSide(agent).prepare(claim)[uid].error == ""
    file = agent.cdi_directory / f"k8s.{DRIVER}-claim_{uid}.json"
    (device,) = json.loads(file.read_text())["devices"]
    (pipe, _) = device["containerEdits"]["mounts"]
    daemons = set(processes_with(PIPE_VARIABLE, pipe["hostPath"]))
    assert len(daemons) == 1

    agent.kill()
    agent.start()
    agent.wait_until_it_serves()
    assert set(processes_with(PIPE_VARIABLE, pipe["hostPath"])) == daemons
    assert KubeletSide(agent).unprepare(claim) == {uid: ""}
    assert set(processes_with(PIPE_VARIABLE, pipe["hostPath"])) == set()
    assert not Path(pipe["hostPath"]).exists()


def test_a_strategy_without_its_gate_is_refused_to_kubelet_by_its_field(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    claim = shared_claim(api_server, shared_agent, "gpu-7", "TimeSlicing")

    answer = KubeletSide(shared_agent).prepare(claim)[uid_of(claim)]

    assert "config[0].opaque.parameters.sharing.strategy: TimeSlicing is behind" in answer.error
    assert "TimeSlicingSettings" in answer.error
