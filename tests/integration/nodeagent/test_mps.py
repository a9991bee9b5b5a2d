"""MPS daemons as real processes, in real mount namespaces, with a stand-in for NVIDIA's program."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nodeagent.claims.entry import State
from nodeagent.claims.garbage import sweep
from nodeagent.claims.mps import (
    PIPE_IN_CONTAINER,
    PIPE_VARIABLE,
    SHM_IN_CONTAINER,
    MpsDaemons,
)
from nodeagent.claims.prepare import Refusal
from nodeagent.claims.processes import kill, processes_with
from nodeagent.claims.repair import repair_claims
from nodeagent.claims.sharing import Mps
from nodeagent.devices.model import Inventory, Source
from nodeagent.fields import Json, JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod, a_gpu, reference_to
from tests.builders.objects import DRIVER, a_result
from tests.integration.nodeagent.rig import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root, as the agent has")

STAND_IN = Path(__file__).parent / "mps_stand_in.py"
GPUS = Inventory.of([a_gpu(n, compute_capability="9.0") for n in (0, 1)], source=Source.SIMULATED)


@pytest.fixture
def control(tmp_path: Path) -> str:
    program = tmp_path / "nvidia-cuda-mps-control"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {STAND_IN} "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def node(tmp_path: Path, control: str) -> Iterator[AgentNode]:
    node = AgentNode(tmp_path / "node", inventory=GPUS, mps_control=control)
    yield node
    for mps_id in daemons_of(node).ids():
        daemons_of(node).stop(mps_id)


def daemons_of(node: AgentNode) -> MpsDaemons:
    return node.execution.effects.mps


def an_mps_claim(*devices: str, **mps_config: Json) -> JsonObject:
    claim: Any = a_claim_of_pod(*(a_result(device) for device in devices))
    sharing: JsonObject = {"strategy": "MPS"}
    if mps_config:
        sharing["mpsConfig"] = mps_config
    parameters = {
        "apiVersion": "config.dra-console.io/v1",
        "kind": "GpuConfig",
        "sharing": sharing,
    }
    opaque = {"driver": DRIVER, "parameters": parameters}
    claim["status"]["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    made: JsonObject = claim
    return made


def prepared(node: AgentNode, *devices: str, **mps_config: Json) -> JsonObject:
    claim = an_mps_claim(*(devices or ("gpu-0",)), **mps_config)
    node.claims.put(claim)
    outcome = node.prepare(claim)
    assert isinstance(outcome, tuple), outcome
    return claim


def place_of(node: AgentNode, claim: JsonObject) -> Path:
    daemons = daemons_of(node)
    (mps_id,) = daemons.ids_of(reference_to(claim).uid)
    return daemons.directory / mps_id


def processes_of(place: Path) -> set[int]:
    return set(processes_with(PIPE_VARIABLE, str(place / "pipe")))


def test_a_claim_gets_one_daemon_for_all_its_devices_with_its_settings(node: AgentNode) -> None:
    claim = prepared(
        node,
        "gpu-0",
        "gpu-1",
        defaultActiveThreadPercentage=40,
        defaultPinnedDeviceMemoryLimit="2Gi",
        defaultPerDevicePinnedMemoryLimit={"1": "512Mi"},
    )

    place = place_of(node, claim)
    assert len(processes_of(place)) == 1
    told = (place / "log/commands").read_text().splitlines()
    assert told[-3:] == [
        "set_default_active_thread_percentage 40",
        "set_default_device_pinned_mem_limit GPU-0 2048M",
        "set_default_device_pinned_mem_limit GPU-1 512M",
    ]
    assert all(node.boards.board(uuid).is_exclusive for uuid in ("GPU-0", "GPU-1"))


def test_daemon_and_container_share_memory_that_is_the_claims_alone(node: AgentNode) -> None:
    claim = prepared(node)

    place = place_of(node, claim)
    assert (place / "shm").is_mount()
    assert eventually((place / "shm/mark-of-the-server").exists)
    assert (place / "shm/mark-of-the-server").read_text() == "GPU-0"
    assert not (Path(SHM_IN_CONTAINER) / "mark-of-the-server").exists()
    (device,) = json.loads(node.cdi_file(claim).read_text())["devices"]
    edits = device["containerEdits"]
    assert f"CUDA_MPS_PIPE_DIRECTORY={PIPE_IN_CONTAINER}" in edits["env"]
    assert [(mount["hostPath"], mount["containerPath"]) for mount in edits["mounts"]] == [
        (str(place / "pipe"), PIPE_IN_CONTAINER),
        (str(place / "shm"), SHM_IN_CONTAINER),
    ]


def test_undoing_a_claim_leaves_no_process_no_mount_and_no_directory(node: AgentNode) -> None:
    claim = prepared(node)
    place = place_of(node, claim)

    assert node.unprepare(claim) is None

    assert not place.exists()
    assert processes_of(place) == set()
    assert str(place) not in Path("/proc/mounts").read_text()
    assert not node.boards.board("GPU-0").is_exclusive


def test_a_daemon_that_does_not_quit_is_killed(node: AgentNode) -> None:
    claim = prepared(node)
    place = place_of(node, claim)
    (place / "log/stubborn").touch()

    assert node.unprepare(claim) is None

    assert processes_of(place) == set()
    assert not place.exists()


def test_an_agent_that_starts_again_leaves_a_living_daemon_alone(node: AgentNode) -> None:
    claim = prepared(node, defaultActiveThreadPercentage=40)
    before = processes_of(place_of(node, claim))
    told = (place_of(node, claim) / "log/commands").read_text()

    node.restart()
    node.prepare(claim)

    assert processes_of(place_of(node, claim)) == before
    again = (place_of(node, claim) / "log/commands").read_text()
    assert again.count("set_default") == told.count("set_default") == 1


def test_a_daemon_that_died_is_started_again(node: AgentNode) -> None:
    claim = prepared(node, defaultActiveThreadPercentage=25)
    place = place_of(node, claim)
    before = processes_of(place)
    kill(before, within_seconds=5)

    repair_claims(node.execution, inventory=GPUS)

    after = processes_of(place)
    assert len(after) == 1
    assert after != before
    assert (place / "log/commands").read_text().splitlines()[-1].endswith(" 25")


def test_after_a_reboot_what_was_lost_with_it_is_done_again(node: AgentNode) -> None:
    claim = prepared(node)
    place = place_of(node, claim)
    kill(processes_of(place), within_seconds=5)

    node.restart(boot_id="boot-2")
    assert not place.exists()
    assert not node.boards.board("GPU-0").is_exclusive

    assert isinstance(node.prepare(claim), tuple)
    assert len(processes_of(place_of(node, claim))) == 1
    assert node.boards.board("GPU-0").is_exclusive


def test_what_a_daemon_refuses_is_the_claims_error_and_leaves_nothing(node: AgentNode) -> None:
    claim = an_mps_claim("gpu-0", defaultActiveThreadPercentage=13)
    node.claims.put(claim)

    outcome = node.prepare(claim)

    assert isinstance(outcome, Refusal)
    assert "set_default_active_thread_percentage 13: status 1: refused" in outcome.reason
    assert node.entry(claim) is None
    assert daemons_of(node).ids() == ()
    assert not node.boards.board("GPU-0").is_exclusive
    assert not node.cdi_file(claim).exists()


def test_without_the_control_program_the_refusal_says_what_was_tried(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, inventory=GPUS, mps_control="/no/such/program")
    claim = an_mps_claim("gpu-0")
    node.claims.put(claim)

    outcome = node.prepare(claim)

    assert isinstance(outcome, Refusal)
    assert "/no/such/program" in outcome.reason
    assert node.entry(claim) is None
    assert daemons_of(node).ids() == ()


def test_a_kill_between_the_plan_and_the_answer_leaves_no_daemon(node: AgentNode) -> None:
    claim = prepared(node)
    place = place_of(node, claim)
    entry = node.entry(claim)
    assert entry is not None
    with node.preparer.ledger.held():
        node.preparer.ledger.put(replace(entry, state=State.STARTED))

    node.restart()

    assert not place.exists()
    assert processes_of(place) == set()
    assert not node.boards.board("GPU-0").is_exclusive


def test_daemons_that_no_entry_knows_go_after_an_hour(node: AgentNode) -> None:
    daemons_of(node).start("lost-claim-12345", ["GPU-0"], Mps())
    place = daemons_of(node).directory / "lost-claim-12345"

    def swept(after: timedelta) -> tuple[str, ...]:
        now = datetime.now(UTC) + after
        return sweep(node.preparer, abandonment=node.abandonment, now=now)

    assert swept(timedelta(minutes=59)) == ()
    assert len(processes_of(place)) == 1
    assert swept(timedelta(minutes=61)) == ("lost-claim",)
    assert processes_of(place) == set()
    assert not place.exists()


def test_daemons_are_moved_out_of_the_agents_control_group(tmp_path: Path, control: str) -> None:
    cgroup = tmp_path / "cgroup"
    daemons = MpsDaemons(directory=tmp_path / "mps", executable=control, cgroup=cgroup)

    daemons.start("claim-12345", ["GPU-0"], Mps())

    (process,) = processes_of(tmp_path / "mps/claim-12345")
    assert (cgroup / "cgroup.procs").read_text() == f"{process}\n"
    os.kill(process, signal.SIGTERM)
    daemons.stop("claim-12345")


def test_the_program_may_be_in_another_root_directory(tmp_path: Path, control: str) -> None:
    daemons = MpsDaemons(
        directory=tmp_path / "mps", executable=control, root=Path("/proc/self/root")
    )

    daemons.start("claim-12345", ["GPU-0"], Mps())

    assert eventually((tmp_path / "mps/claim-12345/shm/mark-of-the-server").exists)
    daemons.stop("claim-12345")
    assert daemons.ids() == ()


READ_ONLY_ROOT = """
import subprocess, sys
from pathlib import Path
from nodeagent.claims.mps import MpsDaemons
from nodeagent.claims.sharing import Mps

place, root, control = sys.argv[1:]
for command in (
    ("--rbind", "/", root),
    ("--bind", place, root + place),
    ("-o", "remount,bind,ro", root + place),
):
    subprocess.run(["mount", *command], check=True)
daemons = MpsDaemons(directory=Path(place), executable=control, root=Path(root))
daemons.start("claim-00001", ["GPU-0"], Mps(active_thread_percentage=40))
print(Path(place, "claim-00001/log/commands").read_text().splitlines()[-1])
daemons.stop("claim-00001")
"""


def test_a_daemon_starts_though_the_drivers_root_is_mounted_read_only(
    tmp_path: Path, control: str
) -> None:
    place, root = tmp_path / "mps", tmp_path / "host"
    place.mkdir()
    root.mkdir()

    # As in the DaemonSet, whose `/host` is that. In mounts of its own, which go with it.
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private"),
            *(sys.executable, "-c", READ_ONLY_ROOT, place, root, control),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "set_default_active_thread_percentage 40"
