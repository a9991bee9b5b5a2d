"""The publication in virtual time, against a server with gates, moods and a memory."""

import copy
import dataclasses
from typing import Any

from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.kube.errors import ConflictError, ForbiddenError, StatusError
from tests.builders.agents import an_inventory
from tests.builders.publication import LOST, SICK, Publication, plain_gpus, published
from tests.builders.slice_server import SliceServer


def test_a_taint_whose_publication_failed_is_published_when_it_can_be() -> None:
    node = published(an_inventory())
    node.server.failures = [StatusError(500, "etcd")] * 5

    node.offer(an_inventory(), gpu_1=(SICK,))
    node.run_for(60)

    assert list(node.server.taints()) == ["gpu-1"]


def test_a_servers_wish_to_wait_holds_against_new_offers() -> None:
    node = published(an_inventory())
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
    node = published(an_inventory())
    node.server.failures = [ConflictError(409, "changed")]

    node.offer(an_inventory(), gpu_0=(SICK,))
    node.run_for(1)

    assert list(node.server.taints()) == ["gpu-0"]


def test_a_slice_that_somebody_changed_unseen_is_put_right() -> None:
    node = published(an_inventory())
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
    node = published(an_inventory())

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
    node = published(an_inventory())
    foreign = copy.deepcopy(next(iter(node.server.stored.values())))
    foreign["spec"]["devices"] = []
    node.server.put(foreign)

    node.run_for(31)

    assert node.server.devices() == ["gpu-0", "gpu-1"]


def test_taints_of_the_last_offer_stay_where_an_offer_says_nothing_of_them() -> None:
    node = Publication()
    node.offer(an_inventory(), gpu_0=(SICK,))
    node.publisher.offer(plain_gpus(3))
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
