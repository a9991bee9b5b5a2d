"""Who holds what, found out again after the checkpoint was lost."""

from pathlib import Path
from typing import Any

import pytest

from nodeagent.claims.entry import State
from nodeagent.claims.prepare import Refusal
from nodeagent.claims.sharing import Interval, TimeSlicing
from tests.builders.agent_claims import prepared_claim
from tests.builders.agents import (
    AgentNode,
    a_claim_of_pod,
    a_mig_inventory,
    reference_to,
)
from tests.builders.objects import DRIVER, a_result, an_allocated_claim

SMALL = "gpu-0-mig-1g5gb-19-0"


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path)


@pytest.fixture
def mig_node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01")


def lose_checkpoint(node: AgentNode) -> None:
    for path in (node.directory / "plugin").iterdir():
        path.unlink()


def lose_files(node: AgentNode) -> None:
    for path in (node.directory / "cdi").iterdir():
        path.unlink()


def test_the_claim_says_what_its_file_does_not(node: AgentNode) -> None:
    claim = a_claim_of_pod(
        a_result("gpu-0", shareID="8f1a2b3c-0000-4000-8000-000000000001", request="gpu/big"),
    )
    body: Any = claim
    parameters = {
        "apiVersion": "config.dra-console.io/v1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
    }
    opaque = {"driver": DRIVER, "parameters": parameters}
    body["status"]["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    node.claims.put(claim)
    node.prepare(claim)
    before = node.entry(claim)
    lose_checkpoint(node)

    assert node.restart().rebuilt == (reference_to(claim).uid,)

    entry = node.entry(claim)
    assert entry is not None
    assert before is not None
    assert entry.devices == before.devices
    assert entry.label == "team-research/train"
    assert entry.devices[0].sharing == TimeSlicing(Interval.LONG)
    node.unprepare(claim)
    assert node.boards.board("GPU-0").time_slice == 0


def test_a_claim_without_its_file_is_found_by_the_api_server_alone(node: AgentNode) -> None:
    """Fault: kubelet does not ask again for pods that run; an empty checkpoint stays wrong."""
    claim = prepared_claim(node)
    lose_checkpoint(node)
    lose_files(node)

    node.restart()

    entry = node.entry(claim)
    assert entry is not None
    assert entry.state is State.COMPLETED
    rival = a_claim_of_pod(name="rival")
    node.claims.put(rival)
    assert isinstance(node.prepare(rival), Refusal)


def test_of_two_claims_for_one_device_the_one_with_a_file_is_believed(node: AgentNode) -> None:
    claim = prepared_claim(node)
    rival = a_claim_of_pod(name="rival")
    node.claims.put(rival)
    lose_checkpoint(node)

    node.restart()

    assert node.entry(claim) is not None
    assert node.entry(rival) is None


def test_claims_of_other_nodes_and_claims_that_nobody_uses_are_not_taken_over(
    node: AgentNode,
) -> None:
    elsewhere = a_claim_of_pod(a_result("gpu-0", pool="gpu-02"), name="elsewhere")
    unused = an_allocated_claim("unused")
    node.claims.put(elsewhere, unused, {"metadata": {"namespace": "x", "name": "y", "uid": "z"}})
    lose_checkpoint(node)

    assert node.restart().rebuilt == ()


def test_with_the_api_server_away_the_files_tell_enough(node: AgentNode) -> None:
    claim = prepared_claim(node)
    lose_checkpoint(node)
    node.claims.is_reachable = False

    assert node.restart().rebuilt == (reference_to(claim).uid,)


@pytest.mark.parametrize("is_reachable", [True, False])
def test_a_partition_is_known_again_and_goes_with_its_claim(
    mig_node: AgentNode, *, is_reachable: bool
) -> None:
    claim = prepared_claim(mig_node, SMALL)
    before = mig_node.entry(claim)
    lose_checkpoint(mig_node)
    mig_node.claims.is_reachable = is_reachable

    mig_node.restart()

    entry = mig_node.entry(claim)
    assert entry is not None
    assert before is not None
    assert entry.devices[0].uuid == before.devices[0].uuid
    assert isinstance(mig_node.prepare(claim), tuple)
    assert mig_node.unprepare(claim) is None
    board = mig_node.boards.board(entry.devices[0].parent_uuid or "")
    assert board.instances == ()


def test_a_claim_whose_partition_does_not_exist_was_never_prepared(mig_node: AgentNode) -> None:
    claim = a_claim_of_pod(a_result(SMALL, pool="mig-01"))
    mig_node.claims.put(claim)
    lose_checkpoint(mig_node)

    assert mig_node.restart().rebuilt == ()
    assert isinstance(mig_node.prepare(claim), tuple)


def test_a_claim_that_was_begun_before_the_file_was_lost_may_have_been_answered(
    mig_node: AgentNode,
) -> None:
    """The file before the last write is the one with the partition, and not yet the answer."""
    claim = prepared_claim(mig_node, SMALL)
    (mig_node.directory / "plugin/checkpoint.json").write_text("{")

    mig_node.restart()

    entry = mig_node.entry(claim)
    assert entry is not None
    assert entry.state is State.COMPLETED
    assert mig_node.unprepare(claim) is None
    assert mig_node.boards.board(entry.devices[0].parent_uuid or "").instances == ()
