"""How an inventory is cut into slices that any API server takes as a whole."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pytest

from nodeagent.devices.control import Instance
from nodeagent.devices.mig import counters_drawn_by_whole
from nodeagent.devices.model import Gpu, Inventory, MigMode, Source
from nodeagent.devices.profiles import PROFILES, gpus
from nodeagent.devices.taint import Taint
from nodeagent.publish.devices import Offer
from nodeagent.publish.features import Feature, Layout, Shape, features_of
from nodeagent.publish.slices import DesiredSlice, faults_of, slices_of
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory
from tests.builders.publication import SICK, UNWATCHED, hopper_inventory

ALL = Shape()


def slices(
    inventory: Inventory,
    shape: Shape = ALL,
    taints: Mapping[str, tuple[Taint, ...]] | None = None,
) -> tuple[DesiredSlice, ...]:
    return slices_of(Offer(inventory, taints or {}), shape)


def names(published: tuple[DesiredSlice, ...]) -> list[list[str]]:
    return [[str(device["name"]) for device in one.devices] for one in published]


def static_inventory() -> Inventory:
    """Two partitions that an administrator has made."""
    (gpu, *_) = gpus("a100x2-mig", node_name="mig-01")
    made = [
        dataclasses.replace(
            partition,
            uuid=f"MIG-{partition.start}",
            instance=Instance(
                uuid=f"MIG-{partition.start}",
                gpu_instance_id=1,
                compute_instance_id=0,
                profile_id=partition.profile.id,
                start=partition.start,
            ),
        )
        for partition in gpu.partitions
        if partition.profile.name == "3g.20gb"
    ]
    static = dataclasses.replace(gpu, is_dynamic=False, partitions=tuple(made))
    return Inventory.of([static], source=Source.NVML)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("layout", Layout)
def test_every_simulated_node_is_published_whole_and_within_the_limits(
    profile: str, layout: Layout
) -> None:
    inventory = Inventory.of(
        gpus(profile, node_name="node", is_dynamic=True), source=Source.SIMULATED
    )
    published = slices(inventory, Shape(layout=layout))

    assert [name for slice_names in names(published) for name in slice_names] == [
        device.name for device in inventory.devices
    ]
    assert faults_of(published) == ()


def test_counter_sets_come_in_slices_of_their_own_before_the_devices() -> None:
    counters, *devices = slices(a_mig_inventory())

    assert [one["name"] for one in counters.shared_counters] == [
        "gpu-0-counter-set",
        "gpu-1-counter-set",
    ]
    assert counters.devices == ()
    assert [one.shared_counters for one in devices] == [(), ()]


def test_the_partitions_of_each_gpu_fill_a_slice_of_their_own() -> None:
    """What befalls one GPU is then one slice, replaced under its generation."""
    _, *devices = slices(a_mig_inventory())

    assert [{name[:5] for name in slice_names} for slice_names in names(tuple(devices))] == [
        {"gpu-0"},
        {"gpu-1"},
    ]


def test_old_servers_get_counters_and_devices_of_a_gpu_in_one_slice() -> None:
    published = slices(a_mig_inventory(), Shape(layout=Layout.MIXED))

    assert [[one["name"] for one in each.shared_counters] for each in published] == [
        ["gpu-0-counter-set"],
        ["gpu-1-counter-set"],
    ]
    assert [len(one.devices) for one in published] == [25, 25]


def test_more_than_eight_counter_sets_need_a_second_slice() -> None:
    (gpu, *_) = gpus("a100x2-mig", node_name="mig-01")
    many = [dataclasses.replace(gpu, minor=n, uuid=f"GPU-{n}") for n in range(9)]

    published = slices(Inventory.of(many, source=Source.NVML))

    assert [len(one.shared_counters) for one in published] == [8, 1, *[0] * 9]


def test_an_undivided_gpu_beside_its_partitions_draws_the_whole_counter_set() -> None:
    _, devices, _ = slices(hopper_inventory())

    whole: Any = devices.devices[0]
    (drawn,) = whole["consumesCounters"]
    assert whole["name"] == "gpu-0"
    assert whole["attributes"]["type"] == {"string": "gpu"}
    assert drawn["counterSet"] == "gpu-0-counter-set"
    profiles = hopper_inventory().devices[0].gpu.profiles
    assert drawn["counters"].keys() == counters_drawn_by_whole(profiles).keys()
    assert (
        whole["capacity"]["multiprocessors"]["value"]
        == drawn["counters"]["multiprocessors"]["value"]
    )


def test_what_claims_do_to_dynamic_mig_changes_no_slice() -> None:
    inventory = hopper_inventory(1)
    gpu = inventory.devices[0].gpu
    first, *rest = gpu.partitions
    instance = Instance(
        uuid="MIG-x", gpu_instance_id=1, compute_instance_id=0, profile_id=1, start=0
    )
    busy = dataclasses.replace(
        gpu,
        mig_mode=MigMode.ENABLED,
        partitions=(dataclasses.replace(first, uuid="MIG-x", instance=instance), *rest),
    )

    assert slices(Inventory.of([busy], source=Source.SIMULATED)) == slices(inventory)


def test_static_partitions_exist_side_by_side_and_need_no_counters() -> None:
    published = slices(static_inventory())

    (only,) = published
    device: Any = only.devices[0]
    assert len(only.devices) == 2
    assert "consumesCounters" not in device
    assert device["attributes"]["uuid"] == {"string": "MIG-0"}
    assert [name for name in device["capacity"] if "memorySlice" in name] == [
        f"memorySlice{index}" for index in range(4)
    ]
    assert published == slices(static_inventory(), ALL.without(Feature.COUNTERS))


def test_without_counters_nothing_that_could_overlap_is_published() -> None:
    without = ALL.without(Feature.COUNTERS)

    assert slices(a_mig_inventory(), without) == (DesiredSlice(),)
    (only,) = slices(hopper_inventory(), without)
    assert names((only,)) == [["gpu-0", "gpu-1"]]
    assert "consumesCounters" not in only.devices[0]


def test_without_counters_a_gpu_that_is_in_use_in_parts_is_not_offered_whole() -> None:
    gpu = hopper_inventory(1).devices[0].gpu
    instance = Instance(
        uuid="MIG-x", gpu_instance_id=1, compute_instance_id=0, profile_id=1, start=0
    )
    in_parts = dataclasses.replace(
        gpu, partitions=(dataclasses.replace(gpu.partitions[0], instance=instance),)
    )

    assert slices(Inventory.of([in_parts], source=Source.NVML), ALL.without(Feature.COUNTERS)) == (
        DesiredSlice(),
    )


def test_without_taints_a_sick_device_is_not_published() -> None:
    taints = {"gpu-0": (SICK,), "gpu-1": (UNWATCHED,)}

    assert names(slices(an_inventory(), ALL, taints)) == [["gpu-0", "gpu-1"]]
    assert names(slices(an_inventory(), ALL.without(Feature.TAINTS), taints)) == [["gpu-1"]]


def test_a_node_without_gpus_still_has_a_slice() -> None:
    assert slices(Inventory((), Source.NVML)) == (DesiredSlice(),)
    assert slices(Inventory((), Source.NVML), Shape(layout=Layout.MIXED)) == (DesiredSlice(),)


def test_the_same_hardware_gives_the_same_bytes() -> None:
    shuffled = Inventory.of(
        reversed(gpus("a100x2-mig", node_name="mig-01")), source=Source.SIMULATED
    )
    taints = {"gpu-0-mig-3g20gb-9-0": (SICK, UNWATCHED)}
    turned = {"gpu-0-mig-3g20gb-9-0": (UNWATCHED, SICK)}

    assert json.dumps([one.spec_members() for one in slices(shuffled, ALL, taints)]) == json.dumps(
        [one.spec_members() for one in slices(a_mig_inventory(), ALL, turned)]
    )


def many_gpus(count: int) -> Inventory:
    return an_inventory(*(f"d{index:03}" for index in range(count)))


@pytest.mark.parametrize(
    ("count", "sizes"), [(64, [64]), (65, [64, 1]), (128, [64, 64]), (300, [64] * 4 + [44])]
)
def test_slices_are_cut_at_64_so_that_a_taint_never_cuts_anew(count: int, sizes: list[int]) -> None:
    healthy = slices(many_gpus(count))
    tainted = slices(many_gpus(count), ALL, {"d003": (SICK,)})

    assert [len(one.devices) for one in healthy] == sizes
    assert names(tainted) == names(healthy)
    assert [one for one in tainted[1:] if one not in healthy] == []


def test_gpus_with_and_without_partitions_share_no_slice() -> None:
    (mig, *_) = gpus("a100x2-mig", node_name="mig-01")
    plain: list[Gpu] = [a_gpu(minor, pci_bus_id=f"0000:f{minor}:00.0") for minor in (4, 5)]
    published = slices(Inventory.of([*plain, mig], source=Source.NVML))

    assert [len(one.devices) for one in published] == [0, 25, 2]
    assert features_of(published[2].spec_members()) == frozenset()


def test_a_device_that_cannot_be_named_does_not_take_the_others_with_it() -> None:
    assert names(slices(an_inventory("gpu-0", "GPU_1", "x" * 64))) == [["gpu-0"]]


def test_a_pool_that_cannot_be_valid_is_told_so() -> None:
    twice = DesiredSlice(devices=({"name": "a"}, {"name": "a"}))
    lost = DesiredSlice(devices=({"name": "b", "consumesCounters": [{"counterSet": "x"}]},))
    sets = DesiredSlice(shared_counters=({"name": "s"}, {"name": "s"}))

    assert faults_of([twice, lost, sets]) == (
        "device a is there twice",
        "counter set s is there twice",
        "device b: there is no counter set x",
    )


def test_two_gpus_of_one_minor_are_caught_before_the_server_sees_them() -> None:
    inventory = Inventory.of([a_gpu(0), a_gpu(0, uuid="GPU-x")], source=Source.NVML)

    assert faults_of(slices(inventory)) == ("device gpu-0 is there twice",)
    assert faults_of(slices(an_inventory())) == ()
