"""Claims of an agent's node: known to the API server, prepared, refused, or failing half way."""

from collections.abc import Callable
from typing import Any

import pytest

from nodeagent.claims.prepare import Refusal
from nodeagent.devices.errors import DevicesError
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod
from tests.builders.objects import a_result


def known(node: AgentNode, *devices: str, name: str = "train", **fields: Any) -> JsonObject:
    """Let the API server have a claim that was given these devices."""
    results = [a_result(device, pool=node.pool, **fields) for device in devices]
    claim = a_claim_of_pod(*results, name=name)
    node.claims.put(claim)
    return claim


def prepared(node: AgentNode, claim: JsonObject) -> JsonObject:
    """Have it prepared; return the claim."""
    outcome = node.prepare(claim)
    assert isinstance(outcome, tuple), outcome
    return claim


def prepared_claim(
    node: AgentNode, device: str = "gpu-0", *, name: str = "train", **fields: Any
) -> JsonObject:
    """Make a claim of one device, and have it prepared."""
    return prepared(node, known(node, device, name=name, **fields))


def reason(outcome: object) -> str:
    """Return why a claim was refused."""
    assert isinstance(outcome, Refusal), outcome
    return outcome.reason


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
