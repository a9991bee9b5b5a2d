import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.fields import JsonObject
from nodeagent.kube.versions import preferred, slice_from_v1, slice_to_v1
from nodeagent.publish.devices import Offer
from nodeagent.publish.features import Shape
from nodeagent.publish.slices import slices_of
from tests.builders.agents import a_mig_inventory


@pytest.mark.parametrize(
    ("served", "spoken"),
    [
        (["v1", "v1beta2", "v1beta1"], "v1"),
        (["v1beta1", "v1beta2"], "v1beta2"),
        (["v1alpha3", "v1beta1"], "v1beta1"),
        (["v1alpha3"], None),
        ([], None),
    ],
)
def test_the_newest_common_version_is_spoken(served: list[str], spoken: str | None) -> None:
    assert preferred(served) == spoken


def a_slice() -> JsonObject:
    _, devices, _ = slices_of(Offer(a_mig_inventory()), Shape())
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "spec": {"driver": "gpu.nvidia.com", **devices.spec_members()},
    }


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_the_way_out_and_back_loses_nothing(version: str) -> None:
    sent = slice_from_v1(a_slice(), version=version)

    assert sent["apiVersion"] == f"resource.k8s.io/{version}"
    assert slice_to_v1(sent, version=version) == a_slice()


def test_v1beta1_keeps_a_devices_body_under_basic() -> None:
    sent = json.loads(json.dumps(slice_from_v1(a_slice(), version="v1beta1")))

    assert all(set(device) == {"name", "basic"} for device in sent["spec"]["devices"])


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.text(max_size=5)}, optional={"attributes": st.just({"a": {"int": 1}})}
        )
    )
)
def test_devices_with_and_without_a_body_survive_v1beta1(devices: list[JsonObject]) -> None:
    one: JsonObject = {"apiVersion": "resource.k8s.io/v1", "spec": {"devices": [*devices]}}

    assert slice_to_v1(slice_from_v1(one, version="v1beta1"), version="v1beta1") == one
