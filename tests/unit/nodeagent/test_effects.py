"""What claims do to hardware, and how it is taken back when a step fails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodeagent.claims.entry import State
from nodeagent.claims.prepare import Refusal
from nodeagent.claims.repair import repair_claims
from nodeagent.devices.control import Instance
from nodeagent.devices.errors import (
    BusyError,
    DevicesError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)
from nodeagent.devices.model import Inventory, MigMode, Source
from nodeagent.devices.profiles import gpus
from nodeagent.fields import JsonObject
from tests.builders.agents import (
    AgentNode,
    a_claim_of_pod,
    a_gpu,
    a_mig_inventory,
    reference_to,
)
from tests.builders.objects import DRIVER, a_result

POOL = "mig-01"
LARGE, SMALL = "gpu-0-mig-3g20gb-9-4", "gpu-0-mig-1g5gb-19-0"


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path, inventory=a_mig_inventory(), pool=POOL)


@pytest.fixture
def whole(tmp_path: Path) -> AgentNode:
    """A node with two whole GPUs, of which several claims may have shares."""
    return AgentNode(tmp_path)


def known(node: AgentNode, *devices: str, name: str = "train", **fields: Any) -> JsonObject:
    results = [a_result(device, pool=node.pool, **fields) for device in devices]
    claim = a_claim_of_pod(*results, name=name)
    node.claims.put(claim)
    return claim


def sliced(claim: JsonObject, interval: str) -> JsonObject:
    body: Any = claim
    parameters = {
        "apiVersion": "config.dra-console.io/v1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}},
    }
    opaque = {"driver": DRIVER, "parameters": parameters}
    body["status"]["allocation"]["devices"]["config"] = [{"source": "FromClass", "opaque": opaque}]
    return claim


def prepared(node: AgentNode, claim: JsonObject) -> JsonObject:
    outcome = node.prepare(claim)
    assert isinstance(outcome, tuple), outcome
    return claim


def reason(outcome: object) -> str:
    assert isinstance(outcome, Refusal), outcome
    return outcome.reason


def gpu_uuid(node: AgentNode, minor: int = 0) -> str:
    return next(one.gpu.uuid for one in node.inventory.devices if one.gpu.minor == minor)


def instances(node: AgentNode, minor: int = 0) -> set[tuple[int, int]]:
    board = node.boards.board(gpu_uuid(node, minor))
    return {(instance.profile_id, instance.start) for instance in board.instances}


def failing(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch, method: str, error: DevicesError, *, at: int
) -> None:
    """Let one method of the hardware fail at its n-th call and work at the others."""
    works: Callable[..., Any] = getattr(node.boards, method)
    calls = 0

    def call(*arguments: object) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise error
        return works(*arguments)

    monkeypatch.setattr(node.boards, method, call)


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
    whole: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_time_slice_is_set_and_goes_back_to_default(whole: AgentNode) -> None:
    claim = prepared(whole, sliced(known(whole, "gpu-0"), "Long"))
    assert whole.boards.board("GPU-0").time_slice == 3

    assert whole.unprepare(claim) is None

    assert whole.boards.board("GPU-0").time_slice == 0


def test_a_time_slice_stays_while_another_claim_uses_the_gpu(whole: AgentNode) -> None:
    first = sliced(known(whole, "gpu-0", name="first", shareID="s1"), "Short")
    second = known(whole, "gpu-0", name="second", shareID="s2")
    prepared(whole, first)
    prepared(whole, second)

    whole.unprepare(first)
    assert whole.boards.board("GPU-0").time_slice == 1
    whole.unprepare(second)
    assert whole.boards.board("GPU-0").time_slice == 0


def test_a_time_slice_that_a_failed_claim_leaves_is_reset_by_the_last_user(
    whole: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = prepared(whole, known(whole, "gpu-0", name="user", shareID="s1"))
    failed = sliced(known(whole, "gpu-0", name="failed", shareID="s2"), "Long")
    monkeypatch.setattr(whole.preparer.injection.store.__class__, "write", _refuse_to_write)

    assert "read-only" in reason(whole.prepare(failed))
    monkeypatch.undo()
    whole.restart()
    whole.unprepare(user)

    assert whole.boards.board("GPU-0").time_slice == 0


def test_one_claim_may_take_over_the_time_slices_of_several_gpus(whole: AgentNode) -> None:
    leaving = sliced(known(whole, "gpu-0", "gpu-1", name="leaving", shareID="s1"), "Long")
    staying = known(whole, "gpu-0", "gpu-1", name="staying", shareID="s2")
    prepared(whole, leaving)
    prepared(whole, staying)

    whole.unprepare(leaving)
    assert [whole.boards.board(uuid).time_slice for uuid in ("GPU-0", "GPU-1")] == [3, 3]
    whole.unprepare(staying)

    assert [whole.boards.board(uuid).time_slice for uuid in ("GPU-0", "GPU-1")] == [0, 0]


def _refuse_to_write(*_arguments: object) -> None:
    raise OSError(30, "read-only")


def test_two_claims_cannot_set_different_time_slices_on_one_gpu(whole: AgentNode) -> None:
    prepared(whole, sliced(known(whole, "gpu-0", name="first", shareID="s1"), "Short"))
    other = sliced(known(whole, "gpu-0", name="other", shareID="s2"), "Long")
    same = sliced(known(whole, "gpu-0", name="same", shareID="s3"), "Short")

    assert "another time slice for claim team-research/first" in reason(whole.prepare(other))
    prepared(whole, same)


@pytest.mark.parametrize("error", [UnsupportedError("no such call"), NoDriverError("not loaded")])
def test_a_time_slice_that_nobody_can_reset_does_not_keep_the_claim(
    whole: AgentNode, monkeypatch: pytest.MonkeyPatch, error: DevicesError
) -> None:
    claim = prepared(whole, sliced(known(whole, "gpu-0"), "Long"))
    failing(whole, monkeypatch, "set_time_slice", error, at=1)

    assert whole.unprepare(claim) is None


def test_a_gpu_that_cannot_slice_time_refuses_the_claim_and_stays_as_it_was(
    whole: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = sliced(known(whole, "gpu-0"), "Long")
    failing(whole, monkeypatch, "set_time_slice", UnsupportedError("no such call"), at=1)

    assert "no such call" in reason(whole.prepare(claim))
    assert whole.entry(claim) is None


def test_a_strategy_that_the_agent_does_not_offer_is_refused_by_its_field(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, offered=frozenset())
    claim = sliced(known(node, "gpu-0"), "Long")

    assert reason(node.prepare(claim)) == (
        "status.allocation.devices.config[0].opaque.parameters.sharing.strategy:"
        " TimeSlicing is behind the feature gate TimeSlicingSettings, which is off"
    )


def test_a_prepared_claim_is_answered_after_its_gate_was_switched_off(whole: AgentNode) -> None:
    claim = prepared(whole, sliced(known(whole, "gpu-0"), "Long"))
    before = whole.entry(claim)

    whole.offered = frozenset()
    whole.restart()

    prepared(whole, claim)
    assert whole.entry(claim) == before
    assert whole.unprepare(claim) is None
    assert whole.boards.board("GPU-0").time_slice == 0


def test_access_for_administrators_changes_no_device(node: AgentNode, tmp_path: Path) -> None:
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

    other = AgentNode(tmp_path / "other")
    sliced_watcher = sliced(known(other, "gpu-0", adminAccess=True), "Long")
    prepared(other, sliced_watcher)
    assert other.boards.board("GPU-0").time_slice == 0


def shares(node: AgentNode, *amounts: str) -> list[object]:
    return [
        node.prepare(
            known(
                node,
                "gpu-0",
                name=f"share-{number}",
                shareID=f"s{number}",
                consumedCapacity={"memory": amount},
            )
        )
        for number, amount in enumerate(amounts)
    ]


def test_shares_never_exceed_what_a_device_has(whole: AgentNode) -> None:
    first, second, third = shares(whole, "50Gi", "30Gi", "1")

    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    assert "its prepared shares would consume" in reason(third)


def test_a_share_that_is_given_back_can_be_granted_again(whole: AgentNode) -> None:
    shares(whole, "50Gi", "30Gi")
    whole.unprepare(known(whole, "gpu-0", name="share-0"))
    claim = known(
        whole, "gpu-0", name="next", shareID="s9", consumedCapacity={f"{DRIVER}/memory": "50Gi"}
    )

    prepared(whole, claim)

    assert "DRA_SHARE_GPU_0_MEMORY=50Gi" in whole.cdi_file(claim).read_text()


@pytest.mark.parametrize(
    ("consumed", "said"),
    [({"tensor": "1"}, "has no capacity tensor"), ({"memory": "much"}, "is no quantity")],
)
def test_a_share_of_what_a_device_does_not_have_is_refused(
    whole: AgentNode, consumed: JsonObject, said: str
) -> None:
    claim = known(whole, "gpu-0", shareID="s1", consumedCapacity=consumed)

    assert said in reason(whole.prepare(claim))


def test_a_device_and_its_share_are_named_apart_and_answered_with_the_share(
    whole: AgentNode,
) -> None:
    claim = known(whole, "gpu-0", shareID="s1")

    devices = whole.prepare(claim)

    assert isinstance(devices, tuple)
    uid = reference_to(claim).uid
    assert [(one.share_id, one.cdi_name) for one in devices] == [("s1", f"{uid}-gpu-0-s1")]
