"""The files that containers need, kept in place by a running agent."""

import time
from pathlib import Path

import pytest

from tests.builders.cdi_resolver import resolve
from tests.builders.objects import DRIVER
from tests.integration.nodeagent.conftest import AgentMaker
from tests.integration.nodeagent.rig import (
    AgentProcess,
    ApiServer,
    KubeletSide,
    eventually,
    uid_of,
)

WITHIN_SECONDS = 40
"""A file is missed within a second, and a machine may be busy; the slow look comes after 60."""


@pytest.fixture
def telling_agent(new_agent: AgentMaker, tmp_path: Path) -> AgentProcess:
    """An agent that tells containers of their devices, and makes `/etc/cdi` for old runtimes."""
    options = ("--device-metadata", "--static-cdi-dir", str(tmp_path / "etc/cdi"))
    agent = new_agent("h100x8", *options)
    agent.start()
    agent.wait_until_it_serves()
    return agent


def test_files_that_somebody_removes_are_back_before_a_container_misses_them(
    telling_agent: AgentProcess, api_server: ApiServer, tmp_path: Path
) -> None:
    agent = telling_agent
    claim = api_server.allocate("kept", "gpu-3", node=agent.node)
    (device,) = KubeletSide(agent).prepare(claim)[uid_of(claim)].devices
    ids = list(device.cdi_device_ids)
    before = resolve([agent.cdi_directory], ids)
    began = time.monotonic()

    (agent.cdi_directory / f"k8s.{DRIVER}-claim_{uid_of(claim)}.json").unlink()
    eventually(lambda: uid_of(claim) in agent.cdi_files())
    # In one step: an agent that is quicker than a removal would put files in its way.
    agent.cdi_directory.rename(tmp_path / "taken away")
    eventually(lambda: len(list(agent.cdi_directory.glob("*.json"))) == 2)

    assert time.monotonic() - began < WITHIN_SECONDS
    assert ids == [
        f"k8s.{DRIVER}/claim={uid_of(claim)}-gpu-3",
        f"{DRIVER}/metadata={uid_of(claim)}_gpu",
    ]
    assert resolve([agent.cdi_directory], ids) == before
    assert "DRA_SIMULATED_GPU_3" in before.env
    assert (tmp_path / "etc/cdi").is_dir()

    assert KubeletSide(agent).unprepare(claim) == {uid_of(claim): ""}
    assert list(agent.cdi_directory.iterdir()) == []
