"""Hypothesis strategies: objects as no API server of today would send them, kind by kind.

Each is a plain object with a few fields replaced, removed, doubled or added. Names stay what
they were, so that a test can tell the odd from the plain.
"""

import copy
from collections.abc import Iterator
from typing import TypeAlias

from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_counter_set,
    a_device,
    a_namespace,
    a_node,
    a_pod,
    a_prioritized_request,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    a_template,
    a_wish,
    an_allocated_claim,
    an_object,
)

Place: TypeAlias = tuple[str | int, ...]

IDENTITY = frozenset({"name", "namespace", "uid", "resourceVersion"})

ODD_NUMBERS: list[Json] = [
    *(None, True, False, 0, -1, 1.5, 1e300, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63)),
]
ODD_TEXTS: list[Json] = [
    *("", "1e3", "0.5", "1Ki", "1E", "100m", "-4", "1e999", "9" * 400, "9" * 5000, " 1 "),
    *("Sometimes", "Maybe", "Exists", "five-fifty", "1.2.3-rc", "plenty", "a/b", "../..", "=1+1"),
    *("0001-01-01T00:00:00+14:00", "2026-13-45T00:00:00Z", "2026-11-29T09:12:00"),
    *("2026-11-29T09:12:00.123456789Z", "9999-12-31T23:59:59-12:00"),
    *("x" * 300, "naïve ☃ 😀", "\u202eright to left", "nul \0 here", "half \ud800 pair", "\n\n"),
    *("<b>bold</b>", "{{ x }}", "'; drop table", "%s"),
]
ODD_SHAPES: list[Json] = [
    [],
    {},
    [[]],
    [None],
    {"": None},
    [{"name": None}],
    {"list": [1, "a", None]},
    {"strings": ["a", "b"]},
    {"version": "not a version"},
    {"value": "plenty"},
]
ODD_VALUES = (*ODD_NUMBERS, *ODD_TEXTS, *ODD_SHAPES)


def plain_objects() -> list[JsonObject]:
    """Build one object of every kind and shape that pages look into, all named `odd...`."""
    rich = a_device(
        "gpu-0",
        attributes={"productName": "H100", "uuid": "GPU-1", "driverVersion": {"version": "1.2.3"}},
        consumes={"board": {"memory": "40Gi"}},
        taints=[a_taint()],
    )
    part = a_device(
        "gpu-0-mig-1",
        memory="10Gi",
        attributes={"profile": "1g.10gb", "parentUUID": "GPU-1"},
        consumes={"board": {"memory": "10Gi"}},
    )
    counters = a_counter_set("board", {"memory": "80Gi"})
    shared = a_device(
        "nic-0",
        memory=None,
        capacity={
            "bandwidth": {
                "value": "10G",
                "requestPolicy": {
                    "default": "1G",
                    "validRange": {"min": "1G", "max": "8G", "step": "1G"},
                },
            }
        },
        allowMultipleAllocations=True,
    )
    selector: JsonObject = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
    held = an_allocated_claim("odd-held", results=[a_result(pool="odd-node")], pods=("odd-pod",))
    status = held["status"]
    assert isinstance(status, dict)
    status["devices"] = [{**a_result(pool="odd-node"), "conditions": [a_condition()], "data": {}}]
    return [
        with_field(a_node("odd-node"), "status", {"conditions": [a_condition("Ready")]}),
        a_namespace("odd-namespace"),
        a_class("odd-class", config=[an_opaque()], extendedResourceName="example.com/gpu"),
        a_slice("odd-counters", node="odd-node", slice_count=2, sharedCounters=[counters]),
        a_slice("odd-devices", node="odd-node", slice_count=2, devices=[rich, part]),
        a_slice("odd-shared", node=None, driver="nic", devices=[shared], nodeSelector=selector),
        a_taint_rule("odd-rule", driver="gpu.nvidia.com", pool="odd-node"),
        a_template("odd-template", requests=[a_request(selectors=["true"])]),
        a_claim(
            "odd-claim",
            requests=[
                a_request("gpu", selectors=["true"], tolerations=[a_toleration()], count=2),
                a_prioritized_request("any", small=a_wish(), large=a_wish(count=2)),
            ],
            constraints=[{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/productName"}],
            config=[{"requests": ["gpu"], **an_opaque()}],
        ),
        held,
        a_pod("odd-pod", claim="odd-held", node="odd-node", phase="Running"),
        a_pod("odd-waiting", claim="odd-claim"),
        a_pod("odd-generated", template="odd-template"),
        an_object(
            "ResourceQuota",
            "odd-quota",
            api_version="v1",
            namespace="team-research",
            spec={"hard": {"gpu.deviceclass.resource.k8s.io/devices": "4"}},
        ),
    ]


def a_condition(of_type: str = "Ready") -> JsonObject:
    return {"type": of_type, "status": "True", "lastTransitionTime": "2026-11-29T09:12:00Z"}


def a_toleration() -> JsonObject:
    return {"key": "gpu.nvidia.com/xid", "operator": "Exists", "effect": "NoSchedule"}


def an_opaque() -> JsonObject:
    return {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": {"strategy": "MPS"}}}}


def with_field(one: JsonObject, name: str, value: Json) -> JsonObject:
    return {**one, name: value}


@st.composite
def odd_objects(draw: st.DrawFn) -> list[JsonObject]:
    """Build the objects of `plain_objects` with one to three faults, mostly one, in each."""
    return [draw(_odd(one)) for one in plain_objects()]


@st.composite
def _odd(draw: st.DrawFn, plain: JsonObject) -> JsonObject:
    odd = copy.deepcopy(plain)
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        places = list(_places(odd))
        _spoil(odd, draw(st.sampled_from(places)), draw)
    return odd


def _spoil(whole: JsonObject, place: Place, draw: st.DrawFn) -> None:
    parent: Json = whole
    for step in place[:-1]:
        parent = parent[step]  # type: ignore[index]
    last = place[-1]
    way = draw(st.sampled_from(("replace", "replace", "replace", "remove", "double", "add")))
    value = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
    if isinstance(parent, list) and isinstance(last, int):
        if way == "remove":
            del parent[last]
        elif way == "double":
            parent.append(copy.deepcopy(parent[last]))
        else:
            parent[last] = value
    elif isinstance(parent, dict) and isinstance(last, str):
        if way == "remove":
            del parent[last]
        elif way == "add":
            parent["fromTheFuture"] = value
        else:
            parent[last] = value


def _places(value: Json, place: Place = ()) -> Iterator[Place]:
    """Name every field but those that identify the object."""
    steps: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        steps = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    for step, inner in steps:
        here = (*place, step)
        if here == ("kind",) or (place == ("metadata",) and step in IDENTITY):
            continue
        if here != ("metadata",):
            yield here
        yield from _places(inner, here)
