"""How a device is described to the API server: attributes, capacity, shares, taints."""

import json
from typing import Any

import pytest

from nodeagent.devices.model import Device, Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.devices.taint import Effect, Taint
from nodeagent.publish.attributes import semantic_version
from nodeagent.publish.devices import Offer, counters_of, device_to_api
from nodeagent.publish.features import Feature, Shape
from tests.builders.agents import a_gpu, a_mig_inventory
from tests.builders.publication import SICK, UNWATCHED, hopper_inventory

ALL = Shape()


def described(  # noqa: PLR0913 - a builder has one default for each thing a test may state
    device: Device,
    source: Source = Source.SIMULATED,
    *,
    shape: Shape = ALL,
    shares: int = 1,
    taints: tuple[Taint, ...] = (),
    with_serials: bool = False,
) -> dict[str, Any]:
    offer = Offer(Inventory((device,), source), {device.name: taints}, shares, with_serials)
    described = device_to_api(
        device, offer=offer, shape=shape, gpu_counters=counters_of(device.gpu, shape=shape)
    )
    api: dict[str, Any] = json.loads(json.dumps(described))
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
        "resource.kubernetes.io/numaNode": {"int": 0},
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


def test_taints_are_spelled_as_the_api_does_the_gravest_first() -> None:
    evicted = Taint("gpu.nvidia.com/gpu-lost", "", Effect.NO_EXECUTE)

    api = described(h100(), taints=(UNWATCHED, SICK, evicted, SICK))

    assert api["taints"] == [
        {"key": "gpu.nvidia.com/gpu-lost", "effect": "NoExecute"},
        {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"},
        {"key": "gpu.nvidia.com/unmonitored", "effect": "None"},
    ]
    old = described(h100(), taints=(UNWATCHED, SICK), shape=ALL.without(Feature.INFORMING_TAINTS))
    assert [taint["key"] for taint in old["taints"]] == ["gpu.nvidia.com/xid"]


def test_of_too_many_taints_the_gravest_stay() -> None:
    many = tuple(Taint(f"t{index:02}", "", Effect.NONE) for index in range(20))

    api = described(h100(), taints=(*many, SICK))

    assert len(api["taints"]) == 16
    assert api["taints"][0]["value"] == "79"


def test_shares_let_claims_divide_a_gpus_memory_and_leave_others_alone_on_theirs() -> None:
    api = described(h100(), shares=4)

    assert api["allowMultipleAllocations"] is True
    assert api["capacity"]["memory"] == {
        "value": "81559Mi",
        "requestPolicy": {
            "default": "81556Mi",
            "validRange": {"min": "20389Mi", "step": "20389Mi"},
        },
    }


def test_only_undivided_gpus_are_shared_and_only_where_the_server_knows_shares() -> None:
    partition = a_mig_inventory().devices[0]
    hopper = hopper_inventory(1).devices[0]

    for api in (
        described(partition, shares=4),
        described(hopper, shares=4),
        described(h100(), shares=1),
        described(h100(), shares=4, shape=ALL.without(Feature.SHARES)),
    ):
        assert "allowMultipleAllocations" not in api
        assert "requestPolicy" not in api["capacity"]["memory"]


def test_near_numa_nodes_are_a_list_where_the_server_knows_lists() -> None:
    device = Device("gpu-0", a_gpu(numa_node=2, near_numa_nodes=(2, 0, 1)))
    name = "resource.kubernetes.io/numaNode"

    assert described(device)["attributes"][name] == {"ints": [2, 0, 1]}
    without = described(device, shape=ALL.without(Feature.LISTS))
    assert without["attributes"][name] == {"int": 2}
    assert without["attributes"]["numaNode"] == {"int": 2}


def test_attributes_over_the_limit_go_the_least_important_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nodeagent.publish.limits.PROPERTIES_PER_DEVICE", 6)

    api = described(h100())

    assert set(api["attributes"]) == {
        "type",
        "uuid",
        "simulated",
        "productName",
        "cudaComputeCapability",
    }
    assert len(api["attributes"]) + len(api["capacity"]) == 6


def test_a_list_longer_than_the_limit_of_values_is_left_out() -> None:
    device = Device("gpu-0", a_gpu(numa_node=0, near_numa_nodes=tuple(range(60))))

    assert "resource.kubernetes.io/numaNode" not in described(device)["attributes"]


def test_without_optional_attributes_classes_still_find_the_device() -> None:
    bare = Shape(with_optional_attributes=False)

    assert set(described(h100(), shape=bare)["attributes"]) == {"type", "uuid", "simulated"}
    partition = a_mig_inventory().devices[0]
    assert set(described(partition, shape=bare)["attributes"]) == {
        "type",
        "parentUUID",
        "profile",
        "simulated",
    }


def test_what_a_driver_tells_beyond_the_usual_is_published_and_serials_are_not() -> None:
    device = Device(
        "gpu-0",
        a_gpu(
            serial="1650123",
            board_part_number="900-21010",
            nvlink_clique="6f1c.0",
            addressing_mode="HMM",
            virtualization="none",
            persistence=True,
        ),
    )

    attributes = described(device)["attributes"]

    assert "serial" not in attributes
    assert attributes["boardPartNumber"] == {"string": "900-21010"}
    assert attributes["nvlinkClique"] == {"string": "6f1c.0"}
    assert attributes["addressingMode"] == {"string": "HMM"}
    assert attributes["virtualization"] == {"string": "none"}
    assert attributes["persistence"] == {"bool": True}


def test_serials_are_published_where_the_administrator_wants_that_and_a_board_tells_one() -> None:
    told = described(Device("gpu-0", a_gpu(serial="1650123")), with_serials=True)
    silent = described(Device("gpu-0", a_gpu()), with_serials=True)

    assert told["attributes"]["serial"] == {"string": "1650123"}
    assert "serial" not in silent["attributes"]
