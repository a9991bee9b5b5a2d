"""Partitions that are made for claims, and how they are taken back when a step fails."""

from pathlib import Path

import pytest

from nodeagent.claims.entry import State
from nodeagent.claims.repair import repair_claims
from nodeagent.devices.control import Instance
from nodeagent.devices.errors import (
    BusyError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
)
from nodeagent.devices.model import Inventory, MigMode, Source
from nodeagent.devices.profiles import gpus
from tests.builders.agent_claims import failing, known, prepared, reason
from tests.builders.agents import AgentNode, a_gpu, a_mig_inventory

POOL = "mig-01"
LARGE, SMALL = "gpu-0-mig-3g20gb-9-4", "gpu-0-mig-1g5gb-19-0"


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path, inventory=a_mig_inventory(), pool=POOL)


def gpu_uuid(node: AgentNode, minor: int = 0) -> str:
    return next(one.gpu.uuid for one in node.inventory.devices if one.gpu.minor == minor)


def instances(node: AgentNode, minor: int = 0) -> set[tuple[int, int]]:
    board = node.boards.board(gpu_uuid(node, minor))
    return {(instance.profile_id, instance.start) for instance in board.instances}


def test_a_partition_is_made_for_a_claim_and_goes_with_it(node: AgentNode) -> None:
    claim = known(node, LARGE, SMALL)

    devices = node.prepare(claim)

    assert isinstance(devices, tuple)
    assert instances(node) == {(9, 4), (19, 0)}
    by_id = {one.gpu_instance_id: one.uuid for one in node.boards.board(gpu_uuid(node)).instances}
    assert {device.gpu_instance_id: device.uuid for device in devices} == by_id
    assert f"={devices[0].uuid}" in node.cdi_file(claim).read_text()

    assert node.unprepare(claim) is None
    assert instances(node) == set()


def test_preparing_again_makes_no_second_partition(node: AgentNode) -> None:
    claim = prepared(node, known(node, SMALL))
    before = node.boards.board(gpu_uuid(node)).instances

    prepared(node, claim)

    assert node.boards.board(gpu_uuid(node)).instances == before


@pytest.mark.parametrize("step", [1, 2])
def test_a_step_that_fails_takes_back_the_steps_before_it(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    claim = known(node, LARGE, SMALL)
    failing(node, monkeypatch, "create_partition", PlacementTakenError("no room"), at=step)

    assert "no room" in reason(node.prepare(claim))

    assert instances(node) == set()
    assert node.entry(claim) is None
    assert not node.cdi_file(claim).exists()
    prepared(node, claim)


def test_what_cannot_be_taken_back_now_is_taken_back_before_the_next_attempt(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = known(node, LARGE, SMALL)
    failing(node, monkeypatch, "create_partition", PlacementTakenError("no room"), at=2)
    failing(node, monkeypatch, "destroy_partition", BusyError("in use"), at=1)

    assert "no room" in reason(node.prepare(claim))
    entry = node.entry(claim)
    assert entry is not None
    assert (entry.state, entry.error) == (State.STARTED, "in use")
    assert instances(node) == {(9, 4)}

    prepared(node, claim)
    assert instances(node) == {(9, 4), (19, 0)}


def test_a_claim_left_half_done_is_undone_by_unprepare(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = known(node, LARGE, SMALL)
    failing(node, monkeypatch, "create_partition", PlacementTakenError("no room"), at=2)
    failing(node, monkeypatch, "destroy_partition", BusyError("in use"), at=1)
    node.prepare(claim)

    assert node.unprepare(claim) is None

    assert instances(node) == set()
    entry = node.entry(claim)
    assert entry is not None
    assert entry.state is State.UNPREPARED


def test_a_partition_that_appears_after_the_driver_seemed_silent_is_found_and_destroyed(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = known(node, SMALL)
    make = node.boards.create_partition

    def too_late(gpu: str, profile_id: int, start: int) -> Instance:
        raise DriverTimeoutError(f"no answer about {gpu}, {profile_id} and {start}")

    monkeypatch.setattr(node.boards, "create_partition", too_late)
    assert "no answer" in reason(node.prepare(claim))
    make(gpu_uuid(node), 19, 0)
    monkeypatch.undo()

    repair_claims(node.execution, inventory=node.inventory)

    assert instances(node) == set()
    assert node.entry(claim) is None


def test_a_partition_in_use_keeps_its_claim_until_the_process_is_gone(node: AgentNode) -> None:
    claim = prepared(node, known(node, SMALL))
    (instance,) = node.boards.board(gpu_uuid(node)).instances
    node.boards.in_use.add(instance.uuid)

    assert "is in use" in (node.unprepare(claim) or "")
    assert "still prepared" in reason(node.prepare(known(node, SMALL, name="next")))
    node.restart()
    assert "is in use" in (node.unprepare(claim) or "")

    node.boards.in_use.clear()
    assert node.unprepare(claim) is None
    assert instances(node) == set()


def test_a_partition_made_by_hand_is_neither_taken_nor_destroyed(node: AgentNode) -> None:
    node.boards.create_partition(gpu_uuid(node), 19, 0)
    taken, free = known(node, SMALL), known(node, "gpu-0-mig-1g5gb-19-1", name="free")

    assert "no claim that is prepared here made it" in reason(node.prepare(taken))
    assert node.entry(taken) is None
    prepared(node, free)
    node.unprepare(free)
    node.unprepare(taken)
    node.restart()

    assert instances(node) == {(19, 0)}


def test_a_partition_that_was_destroyed_by_hand_ends_its_claim_in_words(node: AgentNode) -> None:
    claim = prepared(node, known(node, SMALL))
    (instance,) = node.boards.board(gpu_uuid(node)).instances
    node.boards.destroy_partition(gpu_uuid(node), instance)

    assert "is gone from this node: delete the pod" in reason(node.prepare(claim))
    repair_claims(node.execution, inventory=node.inventory)
    assert not node.cdi_file(claim).exists()
    assert node.unprepare(claim) is None


def test_after_a_reboot_partitions_are_made_again(node: AgentNode) -> None:
    claim = prepared(node, known(node, LARGE))

    node.restart(boot_id="boot-2")
    assert instances(node) == set()
    prepared(node, claim)

    assert instances(node) == {(9, 4)}


def test_a_gpu_that_left_the_node_does_not_keep_its_claim(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = prepared(node, known(node, SMALL))
    gone = gpu_uuid(node)
    node.inventory = Inventory.of(
        [gpu for gpu in gpus("a100x2-mig", node_name=POOL) if gpu.uuid != gone],
        source=Source.SIMULATED,
    )
    failing(node, monkeypatch, "instances", NoDriverError("no such GPU"), at=1)

    assert node.unprepare(claim) is None


def test_without_a_driver_a_partition_waits(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = prepared(node, known(node, SMALL))
    failing(node, monkeypatch, "instances", NoDriverError("driver not loaded"), at=1)

    assert "driver not loaded" in (node.unprepare(claim) or "")
    assert node.unprepare(claim) is None


def test_without_a_driver_a_whole_gpu_is_undone_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = AgentNode(tmp_path)
    claim = prepared(whole, known(whole, "gpu-0"))
    for method in ("instances", "set_time_slice", "set_compute_mode", "destroy_partition"):
        failing(whole, monkeypatch, method, NoDriverError("driver not loaded"), at=1)

    assert whole.unprepare(claim) is None


def test_a_gpu_switches_mig_mode_for_whichever_claim_comes(tmp_path: Path) -> None:
    (board, _) = gpus("a100x2-mig", node_name=POOL)
    toggling = a_gpu(
        0,
        mig_mode=MigMode.DISABLED,
        is_dynamic=True,
        toggles_mig=True,
        partitions=board.partitions,
    )
    node = AgentNode(
        tmp_path, inventory=Inventory.of([toggling], source=Source.SIMULATED), pool=POOL
    )
    undivided = known(node, "gpu-0", name="undivided")
    part, other = known(node, SMALL), known(node, "gpu-0-mig-1g5gb-19-1", name="other")

    prepared(node, part)
    prepared(node, other)
    assert node.boards.board("GPU-0").is_mig_on
    assert "still prepared" in reason(node.prepare(undivided))
    node.unprepare(part)
    node.unprepare(other)
    prepared(node, undivided)
    assert not node.boards.board("GPU-0").is_mig_on
    late = known(node, SMALL, name="late")
    assert "still prepared" in reason(node.prepare(late))


def test_access_for_administrators_changes_no_device(node: AgentNode) -> None:
    watcher = known(node, SMALL, name="watcher", adminAccess=True)
    assert "does not exist now" in reason(node.prepare(watcher))
    user = prepared(node, known(node, SMALL))
    before = node.boards.board(gpu_uuid(node))

    devices = node.prepare(watcher)

    assert isinstance(devices, tuple)
    assert devices[0].uuid == before.instances[0].uuid
    node.unprepare(watcher)
    assert node.boards.board(gpu_uuid(node)) == before
    node.unprepare(user)
