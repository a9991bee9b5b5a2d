"""Time slices that claims set on whole GPUs, and who sets them back."""

from pathlib import Path
from typing import Any

import pytest

from nodeagent.devices.errors import DevicesError, NoDriverError, UnsupportedError
from nodeagent.fields import JsonObject
from tests.builders.agent_claims import failing, known, prepared, reason
from tests.builders.agents import AgentNode
from tests.builders.objects import DRIVER


@pytest.fixture
def whole(tmp_path: Path) -> AgentNode:
    """A node with two whole GPUs, of which several claims may have shares."""
    return AgentNode(tmp_path)


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


def test_access_for_administrators_sets_no_time_slice(whole: AgentNode) -> None:
    watcher = sliced(known(whole, "gpu-0", adminAccess=True), "Long")

    prepared(whole, watcher)

    assert whole.boards.board("GPU-0").time_slice == 0
