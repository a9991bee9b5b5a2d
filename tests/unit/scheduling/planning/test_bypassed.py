"""Case 046: `spec.nodeName` passes every scheduler by, and that is said."""

from typing import Any

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_node
from dra_console.scheduling.planning.bypassed import why_bypassed
from tests.builders.cases import case_object

CASE = "046-pod-with-node-name"


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ("uses-allocated", ""),
        ("uses-free", "past every scheduler, so nobody allocates claim free"),
        ("wrong-node", "where the devices of claim got cannot be used"),
    ],
)
def test_a_pod_that_was_given_its_node_by_hand(pod: str, words: str) -> None:
    spec: Any = case_object(CASE, "Pod", pod)["spec"]
    node = decode_node(case_object(CASE, "Node", spec["nodeName"]))
    claims = [
        decode_claim(case_object(CASE, "ResourceClaim", each["resourceClaimName"]))
        for each in spec["resourceClaims"]
    ]

    reason = why_bypassed(node, claims)

    assert words in reason
    assert bool(reason) is bool(words)
