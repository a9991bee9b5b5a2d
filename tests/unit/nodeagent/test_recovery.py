"""What a start makes of what the last run left, and the chores that put the rest right."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import Entry, State
from nodeagent.claims.garbage import sweep
from nodeagent.claims.prepare import Refusal
from nodeagent.claims.recovery import under_boot
from nodeagent.claims.repair import repair_claims
from nodeagent.devices.model import Inventory, Reading, Source
from nodeagent.fields import JsonObject
from tests.builders.agent_claims import prepared_claim
from tests.builders.agents import (
    NOW,
    AgentNode,
    a_claim_of_pod,
    a_gpu,
    a_mig_inventory,
    an_entry,
    reference_to,
    resealed,
)
from tests.builders.objects import a_result


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path)


def store(node: AgentNode, entry: Entry) -> None:
    with node.preparer.ledger.held():
        node.preparer.ledger.put(entry)


def checkpoint_file(node: AgentNode) -> Path:
    return node.directory / "plugin/checkpoint.json"


def state_of(node: AgentNode, claim: JsonObject) -> State | None:
    entry = node.entry(claim)
    return entry.state if entry else None


def test_a_restart_keeps_what_is_prepared(node: AgentNode) -> None:
    claim = prepared_claim(node)
    before = node.entry(claim)

    recovered = node.restart()

    assert node.entry(claim) == before
    assert recovered.corrupt_file is None
    assert recovered.rebuilt == ()


def test_what_was_only_begun_is_rolled_back_with_its_file(node: AgentNode) -> None:
    claim = prepared_claim(node)
    entry = node.entry(claim)
    assert entry is not None
    store(node, an_entry(entry.uid, *entry.devices, state=State.STARTED))

    node.restart()

    assert node.entry(claim) is None
    assert not node.cdi_file(claim).exists()
    assert isinstance(node.prepare(claim), tuple)


def test_what_was_being_undone_is_finished(node: AgentNode) -> None:
    claim = prepared_claim(node)
    entry = node.entry(claim)
    assert entry is not None
    store(node, an_entry(entry.uid, *entry.devices, state=State.UNPREPARING))

    node.restart()

    assert state_of(node, claim) is State.UNPREPARED
    assert not node.cdi_file(claim).exists()


def test_after_a_reboot_a_claim_is_prepared_again_and_holds_nothing_until_then(
    node: AgentNode,
) -> None:
    claim, other = prepared_claim(node), a_claim_of_pod(name="other")
    node.claims.put(other)

    node.restart(boot_id="boot-2")

    assert state_of(node, claim) is State.STALE_BOOT
    assert isinstance(node.prepare(other), tuple)
    assert isinstance(node.prepare(claim), Refusal)
    node.unprepare(other)
    assert isinstance(node.prepare(claim), tuple)
    assert state_of(node, claim) is State.COMPLETED


def test_a_file_without_a_boot_id_belongs_to_this_boot() -> None:
    checkpoint = Checkpoint(boot_id="").with_entry(an_entry())

    adopted = under_boot(checkpoint, boot_id="boot-2", now=NOW)

    assert adopted.boot_id == "boot-2"
    assert adopted.entries == {"uid-1": an_entry()}


@pytest.mark.parametrize("damage", [b"", b'{"formatVersion": 1', b"\x00" * 4096])
def test_a_corrupt_checkpoint_is_set_aside_and_no_claim_is_lost(
    node: AgentNode, damage: bytes
) -> None:
    """The file before it lacks the last claim; that one's CDI file tells of it."""
    first, last = (
        prepared_claim(node, "gpu-0", name="first"),
        prepared_claim(node, "gpu-1", name="last"),
    )
    checkpoint_file(node).write_bytes(damage)

    recovered = node.restart()

    assert recovered.corrupt_file is not None
    assert recovered.corrupt_file.read_bytes() == damage
    assert state_of(node, first) is State.COMPLETED
    assert state_of(node, last) is State.COMPLETED
    next_claim = a_claim_of_pod(a_result("gpu-1"), name="next")
    node.claims.put(next_claim)
    assert isinstance(node.prepare(next_claim), Refusal)


def test_without_any_checkpoint_the_cdi_files_tell_who_holds_what(node: AgentNode) -> None:
    claim = prepared_claim(node, "gpu-1")
    for path in (node.directory / "plugin").iterdir():
        path.unlink()

    recovered = node.restart()

    assert recovered.rebuilt == (reference_to(claim).uid,)
    entry = node.entry(claim)
    assert entry is not None
    assert [(device.device, device.uuid) for device in entry.devices] == [("gpu-1", "GPU-1")]
    rival = a_claim_of_pod(a_result("gpu-1"), name="rival")
    node.claims.put(rival)
    assert isinstance(node.prepare(rival), Refusal)


def test_a_rebuilt_claim_learns_its_requests_from_the_next_prepare(node: AgentNode) -> None:
    claim = prepared_claim(node)
    for path in (node.directory / "plugin").iterdir():
        path.unlink()
    node.restart()

    devices = node.prepare(claim)

    assert isinstance(devices, tuple)
    assert devices[0].requests == ("gpu",)


def test_a_checkpoint_of_a_newer_agent_answers_and_changes_nothing(node: AgentNode) -> None:
    claim = prepared_claim(node)
    newer = resealed(checkpoint_file(node).read_bytes(), formatVersion=99)
    checkpoint_file(node).write_bytes(newer)

    node.restart()
    other = a_claim_of_pod(a_result("gpu-1"), name="other")
    node.claims.put(other)

    assert isinstance(node.prepare(claim), tuple)
    assert isinstance(node.prepare(other), Refusal)
    assert "newer agent" in (node.unprepare(claim) or "")
    assert node.cdi_file(claim).exists()
    assert checkpoint_file(node).read_bytes() == newer


def with_unreadable_entry(node: AgentNode, claim: JsonObject) -> None:
    """Give a claim a state that another version of the same format might have."""
    content = json.loads(checkpoint_file(node).read_bytes())
    content["claims"][reference_to(claim).uid]["state"] = "suspended"
    checkpoint_file(node).write_bytes(
        resealed(json.dumps(content).encode(), claims=content["claims"])
    )


def test_an_entry_that_cannot_be_read_keeps_its_device_until_it_is_undone(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01")
    device = "gpu-0-mig-1g5gb-19-0"
    claim, rival = (
        a_claim_of_pod(a_result(device, pool="mig-01"), name=name) for name in ("kept", "rival")
    )
    node.claims.put(claim, rival)
    node.prepare(claim)
    with_unreadable_entry(node, claim)

    node.restart()

    assert node.cdi_file(claim).exists()
    assert isinstance(node.prepare(rival), Refusal)
    assert node.unprepare(claim) is None
    assert not node.cdi_file(claim).exists()
    assert isinstance(node.prepare(rival), tuple)


def test_an_entry_that_cannot_be_read_is_made_anew_when_kubelet_asks_again(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01")
    claim = a_claim_of_pod(a_result("gpu-0-mig-1g5gb-19-0", pool="mig-01"))
    node.claims.put(claim)
    node.prepare(claim)
    with_unreadable_entry(node, claim)
    node.restart()

    assert isinstance(node.prepare(claim), tuple)
    assert state_of(node, claim) is State.COMPLETED


def test_under_a_newer_checkpoint_no_file_is_removed_either(node: AgentNode) -> None:
    claim = prepared_claim(node)
    newer = resealed(checkpoint_file(node).read_bytes(), formatVersion=99, claims={})
    checkpoint_file(node).write_bytes(newer)
    node.restart()

    assert "newer agent" in (node.unprepare(claim) or "")
    assert node.cdi_file(claim).exists()


def repair(node: AgentNode) -> tuple[str, ...]:
    return repair_claims(node.execution, inventory=node.inventory)


def test_lost_and_changed_files_are_written_again(node: AgentNode) -> None:
    lost, changed = (
        prepared_claim(node, "gpu-0", name="lost"),
        prepared_claim(node, "gpu-1", name="changed"),
    )
    good = node.cdi_file(changed).read_text()
    node.cdi_file(lost).unlink()
    node.cdi_file(changed).write_text("{}")

    assert set(repair(node)) == {reference_to(lost).uid, reference_to(changed).uid}
    assert node.cdi_file(lost).exists()
    assert node.cdi_file(changed).read_text() == good
    assert repair(node) == ()


def test_a_claim_whose_device_is_gone_loses_its_file_and_can_be_undone(node: AgentNode) -> None:
    claim = prepared_claim(node)
    node.inventory = Inventory.of([a_gpu(1)], source=Source.SIMULATED)

    repair(node)

    entry = node.entry(claim)
    assert entry is not None
    assert "is gone from this node" in (entry.error or "")
    assert not node.cdi_file(claim).exists()
    assert node.unprepare(claim) is None


def swept(node: AgentNode, *, after: timedelta) -> tuple[str, ...]:
    return sweep(node.preparer, abandonment=node.abandonment, now=datetime.now(UTC) + after)


def test_a_claim_that_vanished_is_undone_at_the_second_sweep(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=0)
    claim = prepared_claim(node)
    node.claims.remove(claim)

    assert swept(node, after=timedelta(minutes=6)) == ()
    clock[0] += timedelta(minutes=10)
    assert swept(node, after=timedelta(minutes=16)) == (reference_to(claim).uid,)
    assert not node.cdi_file(claim).exists()


def swept_twice(node: AgentNode, clock: list[datetime]) -> tuple[str, ...]:
    first = swept(node, after=timedelta(minutes=6))
    clock[0] += timedelta(minutes=10)
    return first + swept(node, after=timedelta(minutes=16))


def test_no_claim_counts_as_gone_while_its_kind_is_not_served(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=0)
    claim = prepared_claim(node)
    node.claims.is_served = False

    assert swept_twice(node, clock) == ()
    assert node.cdi_file(claim).exists()


def test_a_partition_without_a_reading_is_protected_by_the_driver_itself(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01", now=lambda: clock[0])
    claim = a_claim_of_pod(a_result("gpu-0-mig-1g5gb-19-0", pool="mig-01"))
    node.claims.put(claim)
    node.prepare(claim)
    node.claims.remove(claim)
    (instance,) = node.boards.board(node.inventory.devices[0].gpu.uuid).instances
    node.boards.in_use.add(instance.uuid)

    assert swept_twice(node, clock) == ()
    assert node.boards.board(node.inventory.devices[0].gpu.uuid).instances == (instance,)
    node.boards.in_use.clear()
    assert swept(node, after=timedelta(minutes=26)) == (reference_to(claim).uid,)


def test_a_device_that_left_the_node_protects_no_claim(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    claim = prepared_claim(node)
    node.claims.remove(claim)
    node.inventory = Inventory.of([a_gpu(1)], source=Source.SIMULATED)

    assert swept_twice(node, clock) == (reference_to(claim).uid,)


def test_an_administrators_claim_is_not_kept_by_what_others_run(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=3)
    claim = a_claim_of_pod(a_result("gpu-0", adminAccess=True))
    node.claims.put(claim)
    node.prepare(claim)
    node.claims.remove(claim)

    assert swept_twice(node, clock) == (reference_to(claim).uid,)


@pytest.mark.parametrize("moved_to", [None, "gpu-02"])
def test_a_claim_that_was_taken_from_this_node_counts_as_gone(
    tmp_path: Path, moved_to: str | None
) -> None:
    """The node was away, and its pod was removed by force: the claim lives on elsewhere."""
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=0)
    claim = prepared_claim(node)
    moved = a_claim_of_pod(a_result("gpu-0", pool=moved_to or ""))
    node.claims.put(moved if moved_to else {**claim, "status": {}})

    assert swept_twice(node, clock) == (reference_to(claim).uid,)


def test_after_a_reboot_a_claim_that_was_taken_from_this_node_leaves_no_entry(
    node: AgentNode,
) -> None:
    claim = prepared_claim(node)
    node.restart(boot_id="boot-2")
    node.claims.put({**claim, "status": {}})

    assert swept(node, after=timedelta(minutes=6)) == (reference_to(claim).uid,)


def test_young_claims_and_claims_that_exist_are_left_alone(node: AgentNode) -> None:
    kept = prepared_claim(node, "gpu-0", name="kept")
    young = prepared_claim(node, "gpu-1", name="young")
    node.claims.remove(young)

    assert swept(node, after=timedelta(minutes=1)) == ()
    node.claims.is_reachable = False
    assert swept(node, after=timedelta(minutes=10)) == ()
    assert state_of(node, kept) is State.COMPLETED
    assert state_of(node, young) is State.COMPLETED


def test_a_recreated_claim_of_the_same_name_counts_as_gone(tmp_path: Path) -> None:
    clock = [NOW]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=0)
    claim = prepared_claim(node)
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    node.claims.put({**claim, "metadata": {**metadata, "uid": "another-uid"}})

    swept(node, after=timedelta(minutes=6))
    clock[0] += timedelta(minutes=10)

    assert swept(node, after=timedelta(minutes=16)) == (reference_to(claim).uid,)


def test_files_that_no_entry_knows_go_after_an_hour(node: AgentNode) -> None:
    claim = prepared_claim(node)
    with node.preparer.ledger.held():
        node.preparer.ledger.drop(reference_to(claim).uid)
    path = node.cdi_file(claim)

    assert swept(node, after=timedelta(minutes=59)) == ()
    assert path.exists()
    assert swept(node, after=timedelta(minutes=61)) == (reference_to(claim).uid,)
    assert not path.exists()


def test_another_drivers_files_are_not_ours_to_sweep(node: AgentNode) -> None:
    foreign = node.directory / "cdi/k8s.nic.example-claim_abc.json"
    foreign.write_text("{}")
    os.utime(foreign, (0, 0))

    assert swept(node, after=timedelta(days=1)) == ()
    assert foreign.exists()
