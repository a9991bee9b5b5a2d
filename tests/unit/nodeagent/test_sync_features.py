"""What is published to servers that keep only some features, in virtual time."""

from typing import Any

import pytest

from nodeagent.devices.model import Inventory, Source
from nodeagent.kube.errors import StatusError, UnreachableError
from nodeagent.publish.features import Feature
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory
from tests.builders.publication import (
    SICK,
    UNWATCHED,
    Publication,
    all_names,
    gpus_only,
    has_counters,
    hopper_inventory,
    published,
)
from tests.builders.slice_server import SliceServer

WEBHOOK = StatusError(400, "admission webhook does not support dry run")


def test_whole_gpus_come_first_and_partitions_only_after_counters_were_seen_to_persist() -> None:
    node = Publication()
    inventory = hopper_inventory()
    states: list[tuple[int, list[str]]] = []
    node.server.observe = lambda: states.append((node.server.tried, node.server.devices()))

    node.offer(inventory)
    node.run_for(5)

    assert states[0] == (0, gpus_only(inventory))
    assert all(tried for tried, names in states if set(names) - set(gpus_only(inventory)))
    assert node.server.devices() == all_names(inventory)
    assert all("consumesCounters" in device for device in node.server.full_devices())


@pytest.mark.parametrize("error", [UnreachableError("down"), StatusError(503, "later")])
def test_whole_gpus_are_there_while_nobody_answers_about_counters(error: Any) -> None:
    node = Publication(SliceServer(refuses_dry_runs=error))
    inventory = hopper_inventory()

    node.offer(inventory)
    node.run_for(60)
    assert node.server.devices() == gpus_only(inventory)

    node.server.refuses_dry_runs = None
    node.run_for(60)
    assert node.server.devices() == all_names(inventory)


def test_a_webhook_that_takes_no_dry_run_keeps_partitions_away_and_is_told_of() -> None:
    node = Publication(SliceServer(refuses_dry_runs=WEBHOOK))

    node.offer(hopper_inventory(), gpu_1=(SICK,))
    node.run_for(3 * 3600)

    assert node.server.devices() == ["gpu-0"]
    assert len(node.server.kube_events) == 2


LISTED = Inventory.of([a_gpu(0, numa_node=1, near_numa_nodes=(1, 0))], source=Source.SIMULATED)


def has_taints(server: SliceServer) -> bool:
    return bool(server.taints())


def has_shares(server: SliceServer) -> bool:
    return any("allowMultipleAllocations" in device for device in server.full_devices())


def has_lists(server: SliceServer) -> bool:
    return any(
        "ints" in value for one in server.full_devices() for value in one["attributes"].values()
    )


CASES_OF_FEATURES = [
    (Feature.TAINTS, an_inventory(), {"gpu_0": (SICK,)}, has_taints, ["gpu-1"]),
    (
        Feature.INFORMING_TAINTS,
        an_inventory(),
        {"gpu_0": (UNWATCHED,)},
        has_taints,
        ["gpu-0", "gpu-1"],
    ),
    (Feature.COUNTERS, a_mig_inventory(), {}, has_counters, []),
    (Feature.COUNTERS, hopper_inventory(), {}, has_counters, ["gpu-0", "gpu-1"]),
    (Feature.SHARES, an_inventory(), {}, has_shares, ["gpu-0", "gpu-1"]),
    (Feature.LISTS, LISTED, {}, has_lists, ["gpu-0"]),
]


@pytest.mark.parametrize(
    ("feature", "inventory", "taints", "has", "left"),
    CASES_OF_FEATURES,
    ids=[f"{case[0].name.lower()}-{index}" for index, case in enumerate(CASES_OF_FEATURES)],
)
def test_a_server_that_drops_a_feature_gets_what_is_safe_without_and_nothing_again(
    feature: Feature, inventory: Inventory, taints: Any, has: Any, left: list[str]
) -> None:
    node = Publication(SliceServer(off={feature}), shares=2)
    seen: set[str] = set()
    node.server.observe = lambda: seen.update(node.server.devices())

    node.offer(inventory, **taints)
    node.run_for(60)
    writes = node.server.writes
    node.run_for(3 * 3600)

    assert node.server.devices() == left
    assert seen == set(left), "never more than is safe, not for a moment"
    assert not has(node.server)
    assert node.server.writes == writes
    (event,) = node.server.kube_events
    assert str(event["message"]).startswith("The API server drops fields of ResourceSlices:")


@pytest.mark.parametrize(
    ("feature", "inventory", "taints", "has", "left"),
    CASES_OF_FEATURES,
    ids=[f"{case[0].name.lower()}-{index}" for index, case in enumerate(CASES_OF_FEATURES)],
)
def test_a_feature_that_is_switched_on_later_is_noticed_within_an_hour(
    feature: Feature, inventory: Inventory, taints: Any, has: Any, left: list[str]
) -> None:
    del left
    node = Publication(SliceServer(off={feature}), shares=2)
    node.offer(inventory, **taints)
    node.run_for(60)

    node.server.off = set()
    node.run_for(3700)

    assert has(node.server)
    assert node.server.devices() == all_names(inventory)


def test_a_feature_that_is_dropped_after_it_was_probed_is_withdrawn_at_once() -> None:
    """Two API servers behind one address: the probe met the other one."""
    node = published(hopper_inventory())
    node.server.off = {Feature.COUNTERS}
    node.server.wipe()

    node.run_for(2)

    assert node.server.devices() == ["gpu-0", "gpu-1"]
    assert node.server.is_whole()


def test_taints_that_are_dropped_after_they_were_probed_take_the_device_out() -> None:
    node = published(an_inventory(), gpu_0=(SICK,))
    node.server.off = {Feature.TAINTS}
    node.server.wipe()

    node.run_for(2)

    assert node.server.devices() == ["gpu-1"]


def test_an_administrator_hears_once_of_each_feature() -> None:
    node = Publication(SliceServer(off={Feature.TAINTS, Feature.COUNTERS}))

    node.offer(hopper_inventory(), gpu_0=(SICK,))
    node.run_for(5 * 3600)

    messages = [str(event["message"]) for event in node.server.kube_events]
    assert len(messages) == 2
    assert any("DRADeviceTaints" in message for message in messages)
    assert any("DRAPartitionableDevices" in message for message in messages)
