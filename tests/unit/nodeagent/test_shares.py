"""Shares of one GPU that several claims have."""

from pathlib import Path

import pytest

from nodeagent.fields import JsonObject
from tests.builders.agent_claims import known, prepared, reason
from tests.builders.agents import AgentNode, reference_to
from tests.builders.objects import DRIVER


@pytest.fixture
def whole(tmp_path: Path) -> AgentNode:
    """A node with two whole GPUs, of which several claims may have shares."""
    return AgentNode(tmp_path)


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
