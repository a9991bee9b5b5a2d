"""The publication in virtual time, against a server with gates, moods and a memory."""

import copy
import dataclasses
from itertools import pairwise
from typing import Any

import pytest

from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.kube.errors import ConflictError, ForbiddenError, StatusError, UnreachableError
from nodeagent.publish.features import Feature, Layout
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory
from tests.builders.publication import LOST, SICK, UNWATCHED, Publication, hopper_inventory
from tests.builders.slice_server import SliceServer

WEBHOOK = StatusError(400, "admission webhook does not support dry run")


def gpus_only(inventory: Inventory) -> list[str]:
    return [device.name for device in inventory.devices if device.partition is None]


def all_names(inventory: Inventory) -> list[str]:
    return [device.name for device in inventory.devices]


# What the server keeps


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


def has_counters(server: SliceServer) -> bool:
    return any("sharedCounters" in spec for spec in server.specs())


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
    node = Publication()
    node.offer(hopper_inventory())
    node.run_for(10)
    node.server.off = {Feature.COUNTERS}
    node.server.wipe()

    node.run_for(2)

    assert node.server.devices() == ["gpu-0", "gpu-1"]
    assert node.server.is_whole()


def test_taints_that_are_dropped_after_they_were_probed_take_the_device_out() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(SICK,))
    node.run_for(10)
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


# Layouts of counters


@pytest.mark.parametrize(
    ("git_version", "takes"),
    [
        ("v1.33.4", Layout.MIXED),
        ("v1.34.9-eks-1", Layout.MIXED),
        ("v1.35.0-gke.1", Layout.SPLIT),
        ("v1.37.2", Layout.SPLIT),
    ],
)
def test_the_layout_of_counters_is_that_of_the_servers_minor_version(
    git_version: str, takes: Layout
) -> None:
    node = Publication(SliceServer(git_version=git_version, layout=takes))

    node.offer(a_mig_inventory())
    node.run_for(5)

    assert node.server.devices() == all_names(a_mig_inventory())
    assert node.server.tried <= 2
    assert node.server.kube_events == []


@pytest.mark.parametrize(
    ("git_version", "takes"), [("v1.34.0", Layout.SPLIT), ("v1.36.0", Layout.MIXED)]
)
def test_a_server_that_refuses_its_versions_layout_gets_the_other_one(
    git_version: str, takes: Layout
) -> None:
    node = Publication(SliceServer(git_version=git_version, layout=takes))

    node.offer(a_mig_inventory())
    node.run_for(5)

    assert node.server.devices() == all_names(a_mig_inventory())
    assert {
        bool(spec.get("sharedCounters")) and bool(spec.get("devices"))
        for spec in node.server.specs()
    } == {takes is Layout.MIXED}


def test_an_upgraded_server_is_asked_anew_within_an_hour() -> None:
    node = Publication(SliceServer(git_version="v1.34.0", layout=Layout.MIXED))
    node.offer(a_mig_inventory())
    node.run_for(60)

    node.server.git_version, node.server.layout = "v1.35.0", Layout.SPLIT
    node.run_for(3700)

    assert node.server.rediscovered == 1
    assert [bool(spec.get("devices")) for spec in node.server.specs()] == [False, True, True]
    assert node.server.is_whole()


# Refusals


def refuses_attribute(name: str) -> Any:
    def refusal(spec: dict[str, Any]) -> str | None:
        devices = spec.get("devices", [])
        return name if any(name in device.get("attributes", {}) for device in devices) else None

    return refusal


def test_optional_attributes_go_where_validation_refuses_them_and_come_back_later() -> None:
    node = Publication(SliceServer(refuses=refuses_attribute("migMode")))
    node.offer(an_inventory())
    node.run_for(60)
    bare = {name for device in node.server.full_devices() for name in device["attributes"]}
    writes = node.server.writes
    node.run_for(1000)
    assert node.server.writes == writes, "a dry run asks whether the rest is welcome by now"

    node.server.refuses = lambda _spec: None
    node.run_for(400)

    assert bare == {"type", "uuid", "simulated"}
    assert "migMode" in node.server.full_devices()[0]["attributes"]


def test_where_counters_are_refused_whole_gpus_stay() -> None:
    node = Publication()
    node.offer(hopper_inventory())
    node.run_for(10)
    assert has_counters(node.server)

    node.server.refuses = lambda spec: "no" if "sharedCounters" in spec else None
    node.server.wipe()
    node.run_for(5)

    assert node.server.devices() == ["gpu-0", "gpu-1"]
    assert node.server.is_whole()


def test_the_last_accepted_state_stays_where_nothing_new_is_accepted() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)

    def refusal(spec: dict[str, Any]) -> str | None:
        return "no third" if len(spec.get("devices", [])) > 2 else None

    node.server.refuses = refusal
    node.offer(Inventory.of([a_gpu(n) for n in range(3)], source=Source.SIMULATED))
    node.run_for(60)
    assert node.server.devices() == ["gpu-0", "gpu-1"]
    tried = node.server.tried

    node.run_for(240)
    assert node.server.tried == tried, "it waits five minutes"
    node.server.refuses = lambda _spec: None
    node.run_for(120)
    assert node.server.devices() == ["gpu-0", "gpu-1", "gpu-2"]


def test_a_pool_that_is_refused_half_way_is_whole_again_within_two_seconds() -> None:
    node = Publication()
    many = [a_gpu(n, pci_bus_id=f"0000:{n:02x}:00.0") for n in range(100)]
    node.offer(Inventory.of(many, source=Source.SIMULATED))
    node.run_for(10)
    node.server.refuses = refuses_attribute("serial-killer")

    def refusal(spec: dict[str, Any]) -> str | None:
        return "bad" if any(one["name"] == "gpu-100" for one in spec["devices"]) else None

    node.server.refuses = refusal
    more = [*many, a_gpu(100, pci_bus_id="0000:ff:00.0"), a_gpu(101, pci_bus_id="0000:00:01.0")]
    node.offer(Inventory.of(more, source=Source.SIMULATED))
    node.run_for(2.5)

    assert node.server.is_whole()
    assert "gpu-100" not in node.server.devices()


# Pace


def test_a_node_at_rest_writes_nothing_for_an_hour() -> None:
    node = Publication(shares=4)
    node.offer(hopper_inventory(), gpu_0=(SICK, UNWATCHED))
    node.run_for(120)
    writes, tried = len(node.server.log), node.server.tried

    for _ in range(60):
        node.publisher.check_now()
        node.offer(hopper_inventory(), gpu_0=(UNWATCHED, SICK))
        node.run_for(60)

    assert (len(node.server.log), node.server.tried) == (writes, tried)


def test_taints_that_flap_write_each_slice_once_a_second_at_most() -> None:
    node = Publication()
    inventory = hopper_inventory(2)
    node.offer(inventory)
    node.run_for(10)
    node.server.log.clear()

    for tenth in range(300):
        node.offer(
            inventory, gpu_0=(SICK,) if tenth % 2 else (), gpu_2=(LOST,) if tenth % 3 else ()
        )
        node.run_for(0.1)
    node.offer(inventory, gpu_0=(SICK,))
    node.run_for(2)

    for name in {write.name for write in node.server.log}:
        times = [write.at for write in node.server.log if write.name == name]
        assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    generations = [write.generation for write in node.server.log]
    assert generations == sorted(generations)
    assert list(node.server.taints()) == ["gpu-0"]
    assert node.server.is_whole()


def test_a_taint_is_published_within_a_second_and_replaces_one_slice_in_place() -> None:
    node = Publication()
    node.offer(hopper_inventory())
    node.run_for(10)
    before, generation = len(node.server.log), node.server.generation

    node.offer(hopper_inventory(), gpu_1=(SICK,))
    node.run_for(1)

    assert list(node.server.taints()) == ["gpu-1"]
    assert [write.operation for write in node.server.log[before:]] == ["replace"]
    assert node.server.generation == generation


def test_new_hardware_is_routine_and_waits_five_seconds_after_the_last_write() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(1)

    for count in range(3, 13):
        node.offer(Inventory.of([a_gpu(n) for n in range(count)], source=Source.SIMULATED))
        node.run_for(1)
    node.run_for(5)

    times = [write.at for write in node.server.log]
    assert len(node.server.devices()) == 12
    assert all(later - earlier >= 5 for earlier, later in pairwise(times))


def test_new_hardware_is_one_write_in_place() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    (name,) = node.server.stored

    node.offer(Inventory.of([a_gpu(n) for n in range(3)], source=Source.SIMULATED))
    node.run_for(10)

    assert list(node.server.stored) == [name]
    assert [write.operation for write in node.server.log] == ["create", "replace"]


def test_wiped_slices_are_not_kept_waiting_by_the_pace() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(1)

    for _ in range(3):
        node.server.wipe()
        node.run_for(1)
        assert node.server.is_whole()

    generations = [write.generation for write in node.server.log if write.generation]
    assert generations == [1, 2, 3, 4]


@pytest.mark.parametrize("wipes_at", [(1,), (2, 3, 5), tuple(range(1, 30))])
def test_a_wipe_in_the_middle_of_a_publication_does_not_win(wipes_at: tuple[int, ...]) -> None:
    """Kubelet's deletion is under way while the agent publishes again."""
    node = Publication()
    changes = 0

    def wipe_now_and_then() -> None:
        nonlocal changes
        if node.server.stored and node.server.log[-1].operation == "create":
            changes += 1
            if changes in wipes_at:
                node.server.wipe()

    node.server.observe = wipe_now_and_then
    node.offer(hopper_inventory())
    node.run_for(60)

    assert changes > max(wipes_at)
    assert node.server.is_whole()
    assert node.server.devices() == all_names(hopper_inventory())


# Times of taints


def test_a_rewrite_keeps_the_times_of_taints() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(LOST,))
    node.run_for(10)
    since = node.server.taints()["gpu-0"][0]["timeAdded"]

    node.offer(an_inventory(), gpu_0=(LOST, SICK), gpu_1=(LOST,))
    node.run_for(10)

    lost, sick = node.server.taints()["gpu-0"]
    assert lost["timeAdded"] == since
    assert sick["timeAdded"] != since
    assert node.server.taints()["gpu-1"][0]["timeAdded"] != since


def test_a_wipe_does_not_start_the_clock_of_a_taint_again() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(LOST,))
    node.run_for(10)
    before = node.server.taints()

    node.server.wipe()
    node.run_for(10)

    assert node.server.taints() == before


def test_a_restarted_agent_keeps_the_times_and_writes_nothing() -> None:
    node = Publication()
    node.offer(hopper_inventory(), gpu_0=(LOST,))
    node.run_for(10)
    stored = copy.deepcopy(node.server.stored)

    node.restart()
    node.offer(hopper_inventory(), gpu_0=(LOST,))
    node.run_for(60)

    assert node.server.stored == stored


def test_a_taint_that_went_and_came_back_is_a_new_one() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(LOST,))
    node.run_for(10)
    before = node.server.taints()["gpu-0"][0]["timeAdded"]

    node.offer(an_inventory())
    node.run_for(10)
    node.offer(an_inventory(), gpu_0=(LOST,))
    node.run_for(10)

    assert node.server.taints()["gpu-0"][0]["timeAdded"] != before


# What else befalls slices


def test_a_taint_whose_publication_failed_is_published_when_it_can_be() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    node.server.failures = [StatusError(500, "etcd")] * 5

    node.offer(an_inventory(), gpu_1=(SICK,))
    node.run_for(60)

    assert list(node.server.taints()) == ["gpu-1"]


def test_a_servers_wish_to_wait_holds_against_new_offers() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    node.server.failures = [StatusError(429, "busy", retry_after_seconds=20)]
    attempts = node.server.attempts

    for tenth in range(150):
        node.offer(an_inventory(), gpu_0=(SICK,) if tenth % 2 else (LOST,))
        node.run_for(0.1)

    assert node.server.attempts == attempts + 1
    node.run_for(10)
    assert list(node.server.taints()) == ["gpu-0"]


def test_a_creation_that_no_watch_ever_shows_is_believed_for_a_minute_and_then_made_again() -> None:
    node = Publication(SliceServer(hides_events=True))
    node.offer(an_inventory())
    node.run_for(10)
    node.server.stored.clear()

    for _ in range(4):
        node.publisher.check_now()
        node.run_for(10)
    assert node.server.stored == {}

    node.run_for(20)
    assert node.server.is_whole()


def test_a_conflict_is_followed_by_a_fresh_look_at_once() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    node.server.failures = [ConflictError(409, "changed")]

    node.offer(an_inventory(), gpu_0=(SICK,))
    node.run_for(1)

    assert list(node.server.taints()) == ["gpu-0"]


def test_a_slice_that_somebody_changed_unseen_is_put_right() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    foreign = copy.deepcopy(next(iter(node.server.stored.values())))
    foreign["spec"]["devices"] = []
    node.server.hides_events = True
    node.server.put(foreign)

    node.offer(an_inventory(), gpu_0=(SICK,))
    node.run_for(1)

    assert node.server.devices() == ["gpu-0", "gpu-1"]
    assert list(node.server.taints()) == ["gpu-0"]


def test_a_missing_right_is_asked_for_again_and_again_but_slowly() -> None:
    node = Publication()
    node.server.failures = [ForbiddenError(403, "no")] * 1000

    node.offer(an_inventory())
    node.run_for(300)

    assert 5 < node.server.attempts < 40


def test_slices_belong_to_the_node_that_is_there_when_they_are_created() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)

    node.server.node_uid = "another-uid"
    node.server.wipe()
    node.run_for(10)

    (stored,) = node.server.stored.values()
    assert stored["metadata"]["ownerReferences"][0]["uid"] == "another-uid"


def test_what_a_webhook_adds_to_each_slice_is_left_there() -> None:
    def alter(spec: dict[str, Any]) -> None:
        for device in spec.get("devices", []):
            device["attributes"]["example.com/rack"] = {"string": "r7"}

    node = Publication(SliceServer(alters=alter))
    node.offer(an_inventory())
    node.run_for(10)
    writes = node.server.writes

    for _ in range(20):
        node.publisher.check_now()
        node.run_for(60)

    assert node.server.writes == writes


def test_a_foreign_change_is_put_right_within_half_a_minute() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(10)
    foreign = copy.deepcopy(next(iter(node.server.stored.values())))
    foreign["spec"]["devices"] = []
    node.server.put(foreign)

    node.run_for(31)

    assert node.server.devices() == ["gpu-0", "gpu-1"]


def test_taints_of_the_last_offer_stay_where_an_offer_says_nothing_of_them() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(SICK,))
    node.publisher.offer(Inventory.of([a_gpu(n) for n in range(3)], source=Source.SIMULATED))
    node.run_for(10)
    assert list(node.server.taints()) == ["gpu-0"]

    node.publisher.offer_taints({"gpu-2": (SICK,)})
    node.run_for(10)
    assert list(node.server.taints()) == ["gpu-2"]


def test_sixteen_gpus_of_forty_partitions_fit_into_eighteen_slices() -> None:
    (gpu, *_) = gpus("a100x2-mig", node_name="mig-01")
    places = (gpu.partitions * 2)[:40]
    distinct = tuple(
        dataclasses.replace(
            place, profile=dataclasses.replace(place.profile, id=place.profile.id + 100 * (n // 25))
        )
        for n, place in enumerate(places)
    )
    node = Publication()

    node.offer(
        Inventory.of(
            [
                dataclasses.replace(gpu, minor=n, uuid=f"GPU-{n}", partitions=distinct)
                for n in range(16)
            ],
            source=Source.SIMULATED,
        )
    )
    node.run_for(10)

    assert len(node.server.devices()) == 640
    assert len(node.server.stored) == 18
    assert node.server.is_whole()
