"""What the API server would refuse in a ResourceSlice."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.validation.validate import validate_slice
from tests.builders.objects import a_counter_set, a_device, a_slice, a_taint

DEVICE = "spec.devices[0]"


def holding(**fields: Json) -> JsonObject:
    return a_slice(devices=[a_device("gpu-0") | fields])


def sharing(policy: JsonObject) -> JsonObject:
    capacity: JsonObject = {"k": {"value": "10", "requestPolicy": policy}}
    return holding(capacity=capacity, allowMultipleAllocations=True)


def a_range(default: str, **bounds: Json) -> JsonObject:
    return {"default": default, "validRange": bounds}


VALID = [
    pytest.param(a_slice(), id="one device"),
    pytest.param(a_slice(devices=[]), id="no devices"),
    pytest.param(a_slice(sharedCounters=[a_counter_set("c", {"mem": "1Gi"})]), id="counters"),
    pytest.param(a_slice(node=None, allNodes=True), id="all nodes"),
    pytest.param(a_slice("s", pool="rack-1/a.b"), id="pool name of two parts"),
    pytest.param(sharing(a_range("2", min="2", max="8", step="2")), id="range"),
    pytest.param(sharing({"default": "1", "validValues": ["1", "4"]}), id="values"),
    pytest.param(
        a_slice(node=None, perDeviceNodeSelection=True, devices=[a_device("x", nodeName="n")]),
        id="node selection by device",
    ),
]


@pytest.mark.parametrize("valid", VALID)
def test_valid_slice_has_nothing_wrong(valid: JsonObject) -> None:
    assert validate_slice(valid) == ()


INVALID = [
    pytest.param(a_slice(node=None, pool="p"), "spec", id="no node selection"),
    pytest.param(a_slice(allNodes=True), "spec", id="two node selections"),
    pytest.param(a_slice(slice_count=0), "spec.pool.resourceSliceCount", id="slice count"),
    pytest.param(a_slice(generation=-1), "spec.pool.generation", id="generation"),
    pytest.param(a_slice(driver="-x"), "spec.driver", id="driver"),
    pytest.param(a_slice("s", pool="a//b"), "spec.pool.name", id="pool"),
    pytest.param(
        a_slice(devices=[a_device("x"), a_device("x")]), "spec.devices[1]", id="a name twice"
    ),
    pytest.param(
        a_slice(devices=[a_device(f"d{index}") for index in range(129)]),
        "spec.devices",
        id="129 devices",
    ),
    pytest.param(
        a_slice(
            devices=[
                a_device(f"d{index}", taints=None if index else [a_taint()]) for index in range(65)
            ]
        ),
        "spec.devices",
        id="194 65 devices, one tainted",
    ),
    pytest.param(
        a_slice(sharedCounters=[a_counter_set("c", {})]),
        "spec.sharedCounters[0].counters",
        id="empty counter set",
    ),
    pytest.param(holding(nodeName="n"), DEVICE, id="node selection without leave"),
    pytest.param(
        a_slice(node=None, pool="p", perDeviceNodeSelection=True, devices=[a_device()]),
        DEVICE,
        id="no node selection in spite of leave",
    ),
    pytest.param(
        holding(attributes={"x": {}}), f"{DEVICE}.attributes[x]", id="attribute without value"
    ),
    pytest.param(
        holding(attributes={"x": {"version": "v1"}}),
        f"{DEVICE}.attributes[x].version",
        id="version",
    ),
    pytest.param(
        holding(attributes={"x": {"string": "x" * 65}}),
        f"{DEVICE}.attributes[x].string",
        id="a long text",
    ),
    pytest.param(
        holding(attributes={"a/b-c": {"int": 1}}), f"{DEVICE}.attributes", id="attribute name"
    ),
    pytest.param(
        holding(attributes={f"a{index}": {"int": 1} for index in range(32)}),
        DEVICE,
        id="32 attributes and a capacity",
    ),
    pytest.param(holding(taints=[{"key": "k"}]), f"{DEVICE}.taints[0].effect", id="no effect"),
    pytest.param(
        holding(taints=[{"key": "k", "effect": "Evict"}]),
        f"{DEVICE}.taints[0].effect",
        id="unknown effect",
    ),
    pytest.param(
        holding(taints=[a_taint() for _ in range(17)]), f"{DEVICE}.taints", id="17 taints"
    ),
    pytest.param(
        holding(
            consumesCounters=[
                a_counter_set(name, {"m": "1"}, key="counterSet") for name in ("a", "b", "c")
            ]
        ),
        f"{DEVICE}.consumesCounters",
        id="three counter sets",
    ),
    pytest.param(
        holding(bindingConditions=["ready"]),
        f"{DEVICE}.bindingFailureConditions",
        id="binding without failure",
    ),
    pytest.param(
        holding(capacity={"k": {"value": "1", "requestPolicy": {"default": "1"}}}),
        f"{DEVICE}.capacity[k].requestPolicy",
        id="policy on a device that is not shared",
    ),
    pytest.param(
        sharing({"default": "2", "validValues": ["1", "4"]}),
        f"{DEVICE}.capacity[k].requestPolicy.validValues",
        id="default that is no valid value",
    ),
    pytest.param(
        sharing(a_range("3", min="2", max="8", step="2")),
        f"{DEVICE}.capacity[k].requestPolicy.validRange.step",
        id="default off the steps",
    ),
    pytest.param(
        sharing(a_range("2", min="2", max="20")),
        f"{DEVICE}.capacity[k].requestPolicy.validRange.max",
        id="maximum above the capacity",
    ),
]


@pytest.mark.parametrize(("invalid", "field"), INVALID)
def test_invalid_slice_is_refused_at_the_field(invalid: JsonObject, field: str) -> None:
    assert [each.field for each in validate_slice(invalid)] == [field]


def test_v1beta1_slice_is_read_in_its_own_shape() -> None:
    device: JsonObject = {"name": "gpu-0", "basic": {"attributes": {"x": {"int": 1}}}}
    flat = a_slice(devices=[device]) | {"apiVersion": "resource.k8s.io/v1beta1"}

    assert validate_slice(flat) == ()
    assert [each.field for each in validate_slice(a_slice(devices=[device]))] == [f"{DEVICE}.basic"]
