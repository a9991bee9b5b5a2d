"""Writing v1 objects in the shape of older versions; tests/cluster asks a real server."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.decoding.older import as_version
from dra_console.allocator.decoding.versions import as_v1
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import a_class, a_device, a_slice, an_object
from tests.builders.strategies import worlds
from tests.unit.allocator.test_conversion import RECORDS, part

V1 = "resource.k8s.io/v1"
V1BETA2 = "resource.k8s.io/v1beta2"
V1BETA1 = "resource.k8s.io/v1beta1"


def a_claim_with(*requests: Json) -> JsonObject:
    return an_object("ResourceClaim", "c", spec={"devices": {"requests": [*requests]}})


def a_template_with(*requests: Json) -> JsonObject:
    spec = a_claim_with(*requests)["spec"]
    return an_object("ResourceClaimTemplate", "t", spec={"metadata": {}, "spec": spec})


@pytest.mark.parametrize("build", [a_claim_with, a_template_with])
def test_the_fields_of_exactly_stand_in_the_request_of_v1beta1(
    build: Callable[..., JsonObject],
) -> None:
    alternative: JsonObject = {"name": "b", "firstAvailable": [{"name": "x", "count": 2}]}
    new = build({"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}}, alternative)
    old = build({"name": "a", "deviceClassName": "gpu", "count": 2}, alternative)

    assert as_version(new, api_version=V1BETA1) == old | {"apiVersion": V1BETA1}


def test_the_fields_of_a_device_stand_under_basic_in_v1beta1() -> None:
    bare: JsonObject = {"name": "bare"}
    whole = a_device("whole", attributes={"model": "H200"})
    wrapped = {key: value for key, value in whole.items() if key != "name"}
    published = a_slice(devices=[bare, whole])

    lowered = as_version(published, api_version=V1BETA1)

    spec = lowered["spec"]
    assert isinstance(spec, dict)
    assert spec["devices"] == [
        {"name": "bare", "basic": {}},
        {"name": "whole", "basic": wrapped},
    ]


@pytest.mark.parametrize("obj", [a_slice(), a_class(), a_claim_with({"name": "a"})])
def test_v1beta2_differs_in_its_name_alone(obj: JsonObject) -> None:
    assert as_version(obj, api_version=V1BETA2) == obj | {"apiVersion": V1BETA2}


@pytest.mark.parametrize("record", RECORDS, ids=[str(each["id"]) for each in RECORDS])
def test_what_a_server_stored_can_be_written_back(record: JsonObject) -> None:
    lifted = as_v1(part(record, "v1beta1"))

    assert as_v1(as_version(lifted, api_version=V1BETA1)) == lifted


@given(worlds(), st.sampled_from([V1BETA1, V1BETA2]))
def test_nothing_is_lost_on_the_way_there_and_back(
    world: list[JsonObject], api_version: str
) -> None:
    for obj in world:
        if obj["apiVersion"] == V1:
            there = as_version(obj, api_version=api_version)
            assert there["apiVersion"] == api_version
            assert as_v1(there) | {"apiVersion": V1} == obj


def test_fields_from_the_future_go_there_and_back_where_the_old_shape_has_a_place() -> None:
    request: JsonObject = {"name": "a", "deviceClassName": "gpu", "fromTheFuture": {"x": [1]}}
    device: JsonObject = {"name": "d", "basic": {"fromTheFuture": None}}
    stored_claim = a_claim_with(request) | {"apiVersion": V1BETA1, "alsoNew": 1}
    stored_slice = a_slice(devices=[device]) | {"apiVersion": V1BETA1}

    for stored in (stored_claim, stored_slice):
        assert as_version(as_v1(stored), api_version=V1BETA1) == stored


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (
            a_claim_with({"name": "a"}, {"name": "b", "exactly": {"fromTheFuture": 1}}),
            "spec.devices.requests[1].exactly",
        ),
        (
            a_claim_with({"name": "a", "exactly": {"deviceClassName": "gpu", "fromTheFuture": 1}}),
            "spec.devices.requests[0].exactly.fromTheFuture",
        ),
        (
            a_claim_with({"name": "a", "exactly": {"name": "b", "count": 1}}),
            "spec.devices.requests[0].name",
        ),
        (
            a_claim_with({"name": "a", "exactly": {}, "firstAvailable": []}),
            "spec.devices.requests[0].exactly",
        ),
        (a_slice(allNodes=False), "spec.allNodes"),
    ],
)
def test_what_v1beta1_cannot_say_is_refused_and_named(obj: JsonObject, path: str) -> None:
    with pytest.raises(DecodeError, match="v1beta1") as refused:
        as_version(obj, api_version=V1BETA1)

    assert refused.value.path == path


def test_an_object_of_the_version_asked_for_is_left_alone() -> None:
    odd = a_claim_with({"name": "a", "exactly": {}}) | {"apiVersion": V1BETA1}

    assert as_version(odd, api_version=V1BETA1) is odd
