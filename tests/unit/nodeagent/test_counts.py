"""What Prometheus hears of the publication."""

import pytest
from prometheus_client import REGISTRY

from nodeagent.kube.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StatusError,
    UnreachableError,
)
from nodeagent.publish import counts
from nodeagent.publish.features import Feature
from tests.builders.agents import an_inventory
from tests.builders.publication import SICK, Publication, hopper_inventory
from tests.builders.slice_server import SliceServer


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"dra_nodeagent_{name}", labels) or 0.0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConflictError(409, ""), "conflict"),
        (ForbiddenError(403, ""), "forbidden"),
        (InvalidError(422, ""), "invalid"),
        (StatusError(429, ""), "throttled"),
        (UnreachableError(""), "unreachable"),
        (NotFoundError(404, ""), "server"),
        (StatusError(500, ""), "server"),
        (ValueError("no field"), "answer"),
    ],
)
def test_failures_are_counted_by_what_an_administrator_can_do_about_them(
    error: Exception, reason: str
) -> None:
    before = value("slice_failures_total", reason=reason)

    counts.note_failure(error)

    assert value("slice_failures_total", reason=reason) == before + 1


def test_writes_devices_and_generation_are_those_of_the_server() -> None:
    node = Publication()
    before = {name: value("slice_writes_total", operation=name) for name in ("create", "replace")}

    node.offer(hopper_inventory())
    node.run_for(10)

    creations = [write for write in node.server.log if write.operation == "create"]
    assert value("slice_writes_total", operation="create") - before["create"] == len(creations)
    assert value("pool_devices") == len(node.server.devices())
    assert value("pool_generation") == node.server.generation


def test_a_dropped_feature_and_a_refused_pool_show_until_they_are_over() -> None:
    node = Publication(SliceServer(off={Feature.TAINTS}, refuses=lambda _spec: "no"))
    node.offer(an_inventory(), gpu_0=(SICK,))
    node.run_for(10)

    assert value("feature_dropped", feature="taints") == 1
    assert value("pool_refused") == 1

    node.server.off, node.server.refuses = set(), lambda _spec: None
    node.run_for(3700)
    assert value("feature_dropped", feature="taints") == 0
    assert value("pool_refused") == 0
