from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodeagent.claims.entry import State
from nodeagent.claims.reading import ClaimReference
from nodeagent.devices.model import Inventory, Reading, Source
from nodeagent.fields import JsonObject
from tests.builders.agent_claims import reason
from tests.builders.agents import AgentNode, a_claim_of_pod, a_gpu, a_mig_inventory, reference_to
from tests.builders.objects import a_result, an_allocated_claim


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path)


def a_known_claim(
    node: AgentNode, *results: JsonObject, name: str = "train", version: str = "1"
) -> JsonObject:
    claim = a_claim_of_pod(*results, name=name)
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    metadata["resourceVersion"] = version
    node.claims.put(claim)
    return claim


def test_a_prepared_claim_has_an_entry_and_a_file(node: AgentNode) -> None:
    claim = a_known_claim(node, a_result("gpu-1", request="gpu/large"))

    devices = node.prepare(claim)

    assert isinstance(devices, tuple)
    assert [(device.device, device.requests) for device in devices] == [("gpu-1", ("gpu",))]
    assert node.cdi_file(claim).exists()
    entry = node.entry(claim)
    assert entry is not None
    assert entry.state is State.COMPLETED


def test_preparing_again_answers_the_same_and_writes_nothing(node: AgentNode) -> None:
    claim = a_known_claim(node)
    first = node.prepare(claim)
    checkpoint = node.directory / "plugin/checkpoint.json"
    before = (checkpoint.stat().st_mtime_ns, node.cdi_file(claim).stat().st_mtime_ns)

    assert node.prepare(claim) == first
    assert before == (checkpoint.stat().st_mtime_ns, node.cdi_file(claim).stat().st_mtime_ns)


def test_every_uid_that_was_asked_for_is_answered(node: AgentNode) -> None:
    good, taken = a_known_claim(node), a_known_claim(node, name="second")
    unknown = ClaimReference("team-research", "nobody", "uid-nobody")

    outcomes = node.preparer.prepare([reference_to(good), reference_to(taken), unknown])

    assert set(outcomes) == {reference_to(good).uid, reference_to(taken).uid, "uid-nobody"}
    assert isinstance(outcomes[reference_to(good).uid], tuple)
    assert "still prepared for claim team-research/train" in reason(
        outcomes[reference_to(taken).uid]
    )
    assert "does not exist" in reason(outcomes["uid-nobody"])


def test_an_empty_list_is_answered_without_the_lock(node: AgentNode) -> None:
    with node.preparer.ledger.held():
        assert node.preparer.prepare([]) == {}


def test_a_claim_of_that_name_with_another_uid_is_not_used(node: AgentNode) -> None:
    claim = a_known_claim(node)
    reference = reference_to(claim)
    old = ClaimReference(reference.namespace, reference.name, "old-uid")

    assert "was replaced" in reason(node.preparer.prepare([old])["old-uid"])


def test_a_claim_that_nobody_reserved_is_refused(node: AgentNode) -> None:
    claim = an_allocated_claim()
    node.claims.put(claim)

    assert "is not reserved" in reason(node.prepare(claim))
    assert node.entry(claim) is None


def test_a_uid_that_could_leave_the_directory_is_refused(node: AgentNode) -> None:
    bad = ClaimReference("team-research", "train", "../../etc/cron.d/x")

    assert "is no UID" in reason(node.preparer.prepare([bad])[bad.uid])
    assert node.preparer.unprepare([bad]) == {bad.uid: None}


def test_a_completed_claim_is_answered_while_its_kind_is_not_served(node: AgentNode) -> None:
    claim = a_known_claim(node)
    first = node.prepare(claim)

    node.claims.is_served = False

    assert node.prepare(claim) == first


def test_a_completed_claim_is_answered_when_the_api_server_is_away(node: AgentNode) -> None:
    claim, other = a_known_claim(node), a_known_claim(node, a_result("gpu-1"), name="other")
    first = node.prepare(claim)

    node.claims.is_reachable = False

    assert node.prepare(claim) == first
    assert "could not be read" in reason(node.prepare(other))


def test_a_lost_file_is_written_again_on_the_next_prepare(node: AgentNode) -> None:
    claim = a_known_claim(node)
    node.prepare(claim)
    node.cdi_file(claim).unlink()

    node.prepare(claim)

    assert node.cdi_file(claim).exists()


def test_a_pod_that_was_removed_by_force_leaves_the_claim_whole_for_the_next_one(
    node: AgentNode,
) -> None:
    """Nobody asked to undo it: the next pod gets the same answer, and its file if it is lost."""
    first = node.prepare(a_known_claim(node, version="1"))
    shared = a_known_claim(node, version="2")
    node.cdi_file(shared).unlink()

    assert node.prepare(shared) == first
    assert node.cdi_file(shared).exists()
    assert node.unprepare(shared) is None
    assert not node.cdi_file(shared).exists()


def test_unpreparing_removes_the_file_and_frees_the_device(node: AgentNode) -> None:
    claim, next_claim = a_known_claim(node), a_known_claim(node, name="next")
    node.prepare(claim)

    assert node.unprepare(claim) is None

    assert not node.cdi_file(claim).exists()
    assert isinstance(node.prepare(next_claim), tuple)


def test_unpreparing_what_was_never_prepared_is_done_already(node: AgentNode) -> None:
    claim = a_claim_of_pod()
    node.claims.is_reachable = False

    assert node.unprepare(claim) is None
    assert node.unprepare(claim) is None


def test_a_call_that_began_before_the_unprepare_brings_nothing_back(node: AgentNode) -> None:
    claim = a_known_claim(node)
    node.prepare(claim)
    node.unprepare(claim)

    assert "was unprepared after this call began" in reason(node.prepare(claim))
    assert not node.cdi_file(claim).exists()


def test_a_changed_claim_can_be_prepared_after_an_unprepare(node: AgentNode) -> None:
    node.prepare(a_known_claim(node, version="1"))
    node.unprepare(a_known_claim(node, version="1"))

    again = a_known_claim(node, version="2")

    assert isinstance(node.prepare(again), tuple)


def test_a_claim_that_was_allocated_anew_lets_its_old_devices_go(node: AgentNode) -> None:
    claim = a_known_claim(node, a_result("gpu-0"))
    node.prepare(claim)
    moved = a_known_claim(node, a_result("gpu-1"), version="2")

    devices = node.prepare(moved)

    assert isinstance(devices, tuple)
    assert [device.device for device in devices] == ["gpu-1"]
    assert '"DRA_SIMULATED_GPU_0' not in node.cdi_file(claim).read_text()
    assert isinstance(node.prepare(a_known_claim(node, a_result("gpu-0"), name="next")), tuple)


def test_a_device_whose_name_now_means_other_hardware_is_not_handed_out(node: AgentNode) -> None:
    claim = a_known_claim(node)
    node.prepare(claim)
    node.inventory = Inventory.of([a_gpu(0, uuid="GPU-other")], source=Source.SIMULATED)

    assert "gpu-0 (GPU-0) is gone from this node: delete the pod" in reason(node.prepare(claim))
    assert node.unprepare(claim) is None


def test_overlapping_partitions_exclude_each_other(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01")
    left = a_known_claim(node, a_result("gpu-0-mig-3g20gb-9-0", pool="mig-01"), name="left")
    inside = a_known_claim(node, a_result("gpu-0-mig-1g5gb-19-2", pool="mig-01"), name="inside")
    beside = a_known_claim(node, a_result("gpu-0-mig-1g5gb-19-4", pool="mig-01"), name="beside")
    node.prepare(left)

    assert "gpu-0-mig-1g5gb-19-2 is still prepared" in reason(node.prepare(inside))
    assert isinstance(node.prepare(beside), tuple)


def test_an_admin_claim_may_hold_one_device_twice(node: AgentNode) -> None:
    twice = [a_result("gpu-0", request=name, adminAccess=True) for name in ("a", "b")]
    claim = a_known_claim(node, *twice)

    devices = node.prepare(claim)

    assert isinstance(devices, tuple)
    assert [device.requests for device in devices] == [("a",), ("b",)]
    assert devices[0].cdi_name == devices[1].cdi_name
    assert node.cdi_file(claim).read_text().count('"name"') == 1


def test_a_holder_that_is_gone_for_good_is_undone_at_the_second_look(tmp_path: Path) -> None:
    clock = [datetime(2026, 11, 29, 20, 0, tzinfo=UTC)]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=0)
    lost, claim = a_known_claim(node, name="lost"), a_known_claim(node)
    node.prepare(lost)
    node.claims.remove(lost)

    assert "still prepared" in reason(node.prepare(claim))
    clock[0] += timedelta(seconds=31)

    assert isinstance(node.prepare(claim), tuple)
    assert not node.cdi_file(lost).exists()


@pytest.mark.parametrize("processes", [1, None])
def test_a_holder_whose_device_may_be_in_use_is_kept(tmp_path: Path, processes: int | None) -> None:
    clock = [datetime(2026, 11, 29, 20, 0, tzinfo=UTC)]
    node = AgentNode(tmp_path, now=lambda: clock[0])
    node.readings["gpu-0"] = Reading(device="gpu-0", uuid="GPU-0", process_count=processes)
    lost, claim = a_known_claim(node, name="lost"), a_known_claim(node)
    node.prepare(lost)
    node.claims.remove(lost)
    node.prepare(claim)
    clock[0] += timedelta(hours=1)

    assert "still prepared" in reason(node.prepare(claim))


def test_a_full_disk_is_an_error_of_the_claim_and_leaves_nothing(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = a_known_claim(node)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        assert "No space left" in reason(node.prepare(claim))

    assert node.entry(claim) is None
    assert not node.cdi_file(claim).exists()
    assert isinstance(node.prepare(claim), tuple)
