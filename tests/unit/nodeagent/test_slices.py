import json
from typing import Any

import pytest

from nodeagent.devices.model import Device, Inventory, Source
from nodeagent.devices.profiles import PROFILES, gpus
from nodeagent.fields import JsonObject
from nodeagent.publish.attributes import device_to_api, semantic_version
from nodeagent.publish.slices import DesiredSlice, faults_of, slices_of, split
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory


def slices(inventory: Inventory, *, with_partitions: bool = True) -> tuple[DesiredSlice, ...]:
    return slices_of(inventory, with_partitions=with_partitions)


def described(device: Device, source: Source = Source.SIMULATED) -> dict[str, Any]:
    api: dict[str, Any] = json.loads(json.dumps(device_to_api(device, source=source)))
    return api


def h100(name: str = "gpu-0") -> Device:
    inventory = Inventory.of(gpus("h100x8", node_name="gpu-01"), source=Source.SIMULATED)
    found = inventory.find(name)
    assert found is not None
    return found


def test_a_gpu_has_the_attributes_that_selectors_for_nvidias_driver_use() -> None:
    api = described(h100())

    assert api["name"] == "gpu-0"
    assert api["attributes"] == {
        "type": {"string": "gpu"},
        "uuid": {"string": h100().gpu.uuid},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "eccMode": {"string": "enabled"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:18:00.0"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:15"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": "580.95.5"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "numaNode": {"int": 0},
        "migCapable": {"bool": True},
        "migMode": {"string": "disabled"},
        "simulated": {"bool": True},
    }
    assert api["capacity"] == {"memory": {"value": "81559Mi"}}
    assert "consumesCounters" not in api


def test_a_partition_names_its_parent_and_draws_on_its_counters() -> None:
    device = a_mig_inventory().find("gpu-1-mig-3g20gb-9-4")
    assert device is not None
    api = described(device)

    assert api["attributes"]["type"] == {"string": "mig"}
    assert api["attributes"]["profile"] == {"string": "3g.20gb"}
    assert api["attributes"]["parentUUID"] == {"string": device.gpu.uuid}
    assert "uuid" not in api["attributes"]
    assert api["capacity"]["memory"] == {"value": "19968Mi"}
    assert api["capacity"]["multiprocessors"] == {"value": "42"}
    (consumed,) = api["consumesCounters"]
    assert consumed["counterSet"] == "gpu-1-counter-set"
    assert {name for name in consumed["counters"] if "slice" in name} == {
        f"memory-slice-{index}" for index in (4, 5, 6, 7)
    }


def test_a_real_device_is_not_called_simulated() -> None:
    assert "simulated" not in described(h100(), Source.NVML)["attributes"]


def test_what_is_not_known_is_left_out() -> None:
    api = described(Device("gpu-0", a_gpu(driver_version="not.a.version")))

    assert set(api["attributes"]) == {
        "type",
        "uuid",
        "resource.kubernetes.io/pciBusID",
        "migCapable",
        "migMode",
        "simulated",
    }


def test_text_longer_than_the_api_takes_is_cut_between_characters() -> None:
    api = described(Device("gpu-0", a_gpu(product_name="é" * 40)))

    assert api["attributes"]["productName"] == {"string": "é" * 32}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("535.054.03", "535.54.3"),
        ("550.90.07", "550.90.7"),
        ("9.0", "9.0.0"),
        ("13", "13.0.0"),
        ("580.95.05-open", None),
        ("", None),
    ],
)
def test_versions_become_strictly_semantic_or_nothing(version: str, expected: str | None) -> None:
    assert semantic_version(version) == expected


@pytest.mark.parametrize("profile", PROFILES)
def test_every_simulated_node_is_published_whole_and_within_the_limits(profile: str) -> None:
    inventory = Inventory.of(gpus(profile, node_name="node"), source=Source.SIMULATED)
    published = slices(inventory)

    names = [device["name"] for one in published for device in one.devices]
    assert names == [device.name for device in inventory.devices]
    assert faults_of(published) == ()
    assert all(bool(one.devices) != bool(one.shared_counters) for one in published)


def test_counter_sets_come_in_slices_of_their_own_before_the_devices() -> None:
    counters, devices = slices(a_mig_inventory())

    assert [one["name"] for one in counters.shared_counters] == [
        "gpu-0-counter-set",
        "gpu-1-counter-set",
    ]
    assert len(devices.devices) == 50


def test_without_partitions_nothing_that_could_overlap_is_published() -> None:
    assert slices(a_mig_inventory(), with_partitions=False) == (DesiredSlice(),)


def test_a_node_without_gpus_still_has_a_slice() -> None:
    assert slices(Inventory((), Source.NVML)) == (DesiredSlice(),)


def test_the_same_hardware_gives_the_same_bytes() -> None:
    shuffled = Inventory.of(
        reversed(gpus("a100x2-mig", node_name="mig-01")), source=Source.SIMULATED
    )

    assert [one.spec_members() for one in slices(shuffled)] == [
        one.spec_members() for one in slices(a_mig_inventory())
    ]


def devices(count: int, **members: object) -> list[JsonObject]:
    return [{"name": f"d{index:03}", **members} for index in range(count)]  # type: ignore[dict-item] # they are JSON


@pytest.mark.parametrize(
    ("count", "members", "sizes"),
    [
        (128, {}, [128]),
        (129, {}, [128, 1]),
        (64, {"consumesCounters": [{"counterSet": "a"}]}, [64]),
        (65, {"consumesCounters": [{"counterSet": "a"}]}, [64, 1]),
        (320, {"consumesCounters": [{"counterSet": "a"}]}, [64] * 5),
    ],
)
def test_slices_are_cut_at_the_limit_that_their_devices_have(
    count: int, members: dict[str, object], sizes: list[int]
) -> None:
    assert [len(one.devices) for one in split(devices(count, **members))] == sizes


def test_a_pool_that_cannot_be_valid_is_told_so() -> None:
    twice = DesiredSlice(devices=({"name": "a"}, {"name": "a"}))
    lost = DesiredSlice(devices=({"name": "b", "consumesCounters": [{"counterSet": "x"}]},))
    many: JsonObject = {"name": "c", "attributes": {f"a{index}": {} for index in range(33)}}

    assert faults_of([twice, lost, DesiredSlice(devices=(many,))]) == (
        "device a is there twice",
        "device b: there is no counter set x",
        "device c: expected at most 32 attributes and capacities, got 33",
    )


def test_two_gpus_of_one_minor_are_caught_before_the_server_sees_them() -> None:
    inventory = Inventory.of([a_gpu(0), a_gpu(0, uuid="GPU-x")], source=Source.NVML)

    assert faults_of(slices(inventory)) == ("device gpu-0 is there twice",)
    assert faults_of(slices(an_inventory())) == ()
