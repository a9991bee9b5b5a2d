"""`dra-semantics.md` 3.15 and 6.13: on which nodes a claim that holds devices is of use."""

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_node
from dra_console.allocator.model import Json, JsonObject, Node
from dra_console.allocator.rules import Feature
from dra_console.allocator.scheduler.availability import Unavailable, is_ready, unavailable
from tests.builders.objects import a_node, a_node_selector, a_result, an_allocated_claim
from tests.unit.allocator.worlds import without_gates

BINDING: JsonObject = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
HERE = decode_node(a_node("n"))


def held(*, conditions: dict[str, str] | None = None, **fields: Json) -> JsonObject:
    """Build a claim for node `n` with one device, and what the driver says of the device."""
    result = a_result("x", driver="a", pool="p") | fields
    claim = an_allocated_claim("c", namespace="t", results=[result])
    status = claim["status"]
    assert isinstance(status, dict)
    allocation = status["allocation"]
    assert isinstance(allocation, dict)
    status = status | {"allocation": allocation | {"nodeSelector": a_node_selector("n")}}
    if conditions is not None:
        entries: list[Json] = [{"type": kind, "status": is_} for kind, is_ in conditions.items()]
        status["devices"] = [{"driver": "a", "pool": "p", "device": "x", "conditions": entries}]
    return claim | {"status": status}


def why(claim: JsonObject, *, node: Node = HERE, is_overdue: bool = False) -> Unavailable | None:
    return unavailable(decode_claim(claim), node=node, is_overdue=is_overdue)


def test_claim_is_of_use_where_its_devices_are() -> None:
    assert why(held()) is None
    assert why(held(), node=decode_node(a_node("m"))) is Unavailable.OTHER_NODES


def test_claim_without_devices_is_not_judged() -> None:
    assert why({"metadata": {"name": "c"}, "spec": {}}) is None


@pytest.mark.parametrize("conditions", [None, {}, {"ready": "False"}, {"ready": "Unknown"}])
def test_182_claim_that_is_not_ready_is_of_use_until_it_is_overdue(
    conditions: dict[str, str] | None,
) -> None:
    waiting = held(conditions=conditions, **BINDING)

    assert why(waiting) is None
    assert why(waiting, is_overdue=True) is Unavailable.BINDING_TIMED_OUT
    assert not is_ready(decode_claim(waiting))


@pytest.mark.parametrize("is_overdue", [False, True])
def test_183_claim_whose_device_failed_is_of_use_nowhere(is_overdue: bool) -> None:
    failed = held(conditions={"ready": "True", "failed": "True"}, **BINDING)

    assert why(failed, is_overdue=is_overdue) is Unavailable.BINDING_FAILED
    assert not is_ready(decode_claim(failed))


def test_ready_claim_is_never_overdue() -> None:
    ready = held(conditions={"ready": "True", "failed": "False"}, **BINDING)

    assert why(ready, is_overdue=True) is None
    assert is_ready(decode_claim(ready))


def test_without_the_gate_nobody_waits() -> None:
    failed = decode_claim(held(conditions={"failed": "True"}, **BINDING))
    rules = without_gates(Feature.BINDING_CONDITIONS)

    assert unavailable(failed, node=HERE, is_overdue=True, rules=rules) is None


def test_claim_that_skips_operations_needs_a_node_that_can() -> None:
    skipping = held(skipNodeOperations=["*"])
    able = Node("n", declared_features=frozenset({"DRAOptionalNodeOperations"}))

    assert why(skipping) is Unavailable.OPERATIONS
    assert why(skipping, node=able) is None
