"""A few nodes with devices, and claims of two teams on them: enough for lists to differ."""

from dra_console.allocator.model import JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_namespace,
    a_node,
    a_result,
    a_slice,
    a_template,
    an_allocated_claim,
)


def a_fleet() -> list[JsonObject]:
    """Two nodes of two H100 each, a claim of either team on gpu-01, a pending one of each.

    `team-research` holds gpu-01/gpu-0, `team-vision` holds gpu-01/gpu-1.
    """
    attributes = {"productName": "NVIDIA H100"}
    devices = [a_device(name, attributes={**attributes}) for name in ("gpu-0", "gpu-1")]
    return [
        a_namespace("team-research"),
        a_namespace("team-vision"),
        a_node("gpu-01", zone="a"),
        a_node("gpu-02", zone="b"),
        a_slice(node="gpu-01", devices=devices),
        a_slice(node="gpu-02", devices=devices),
        a_class("gpu.nvidia.com"),
        a_class("l4.nvidia.com"),
        an_allocated_claim("held", namespace="team-research"),
        an_allocated_claim("secret", namespace="team-vision", results=[a_result("gpu-1")]),
        a_claim("waits", namespace="team-research"),
        a_claim("concealed", namespace="team-vision"),
        a_template("one-gpu", namespace="team-research"),
        a_template("private", namespace="team-vision"),
    ]
