"""The publisher's threads against an API server in memory that can misbehave."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodeagent.devices.model import Inventory, Source
from nodeagent.kube.errors import (
    ConflictError,
    ExpiredError,
    InvalidError,
    KubeError,
    NotFoundError,
    StatusError,
    UnreachableError,
)
from nodeagent.publish import publisher as publisher_module
from nodeagent.publish.back_off import BackOff
from nodeagent.publish.features import Feature
from nodeagent.publish.publisher import Publisher
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory
from tests.builders.slice_server import SliceServer

PATIENCE_SECONDS = 10


@contextmanager
def publishing(server: SliceServer, inventory: Inventory | None) -> Iterator[Publisher]:
    publisher = Publisher(server, driver="gpu.nvidia.com", node_name="gpu-01", pool="gpu-01")
    if inventory is not None:
        publisher.offer(inventory)
    threads = [
        threading.Thread(target=target, daemon=True)
        for target in (publisher.follow, publisher.write)
    ]
    for thread in threads:
        thread.start()
    yield publisher
    publisher.stop()
    server.break_watch(UnreachableError("the test ends"))
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher_module, "OFFER_SECONDS", 0.01)
    monkeypatch.setattr(publisher_module, "SOON_SECONDS", 0.01)


def test_devices_are_published_once() -> None:
    server = SliceServer()
    with publishing(server, an_inventory()) as publisher:
        server.wait_until(server.is_whole)
        for _ in range(5):
            publisher.check_now()
            publisher.offer(an_inventory())

    assert server.devices() == ["gpu-0", "gpu-1"]
    assert server.writes == 1


def test_nothing_is_published_before_the_devices_are_known() -> None:
    server = SliceServer()
    with publishing(server, None) as publisher:
        publisher.check_now()
        publisher.offer(Inventory((), Source.NVML))
        server.wait_until(server.is_whole)

    assert server.devices() == []
    assert server.writes == 1


def test_wiped_slices_come_back_as_often_as_they_are_wiped() -> None:
    server = SliceServer()
    with publishing(server, a_mig_inventory()):
        for _ in range(3):
            server.wait_until(server.is_whole)
            server.wipe()
        server.wait_until(server.is_whole)

    assert len(server.devices()) == 50


def test_a_wipe_that_the_watch_missed_is_seen_by_the_next_list() -> None:
    server = SliceServer()
    with publishing(server, an_inventory()):
        server.wait_until(server.is_whole)
        server.hides_events = True
        server.wipe()
        server.hides_events = False
        server.break_watch(ExpiredError(410, "too old"))
        server.wait_until(server.is_whole)


def test_no_slice_is_created_twice_while_the_watch_lags() -> None:
    server = SliceServer(hides_events=True)
    with publishing(server, a_mig_inventory()) as publisher:
        server.wait_until(server.is_whole)
        for _ in range(5):
            publisher.check_now()
        publisher.offer(a_mig_inventory())

    assert server.writes == 3


@pytest.mark.parametrize(
    "failure",
    [
        ConflictError(409, "exists"),
        NotFoundError(404, "no such version"),
        StatusError(500, "etcd"),
        StatusError(429, "busy", retry_after_seconds=0.01),
        UnreachableError("connection refused"),
    ],
    ids=["conflict", "not-found", "server-error", "too-many", "unreachable"],
)
def test_a_failed_write_is_tried_again(failure: KubeError) -> None:
    server = SliceServer(failures=[failure, failure])
    with publishing(server, a_mig_inventory()):
        server.wait_until(server.is_whole)

    assert server.attempts == 5


def test_a_server_that_cannot_be_listed_is_tried_again() -> None:
    server = SliceServer(list_failures=[UnreachableError("down"), StatusError(503, "starting")])
    with publishing(server, an_inventory()):
        server.wait_until(server.is_whole)


def test_partitions_are_withdrawn_where_counters_are_dropped() -> None:
    """Overlapping partitions without counters would be allocated twice."""
    server = SliceServer(off={Feature.COUNTERS})
    ever_published: set[str] = set()
    server.observe = lambda: ever_published.update(server.devices())
    with publishing(server, a_mig_inventory()):
        server.wait_until(server.is_whole)

    assert ever_published == set()


def test_an_invalid_inventory_is_reported_and_not_sent() -> None:
    server = SliceServer()
    twice = Inventory.of([a_gpu(0), a_gpu(0, uuid="GPU-x")], source=Source.NVML)
    with publishing(server, twice) as publisher:
        for _ in range(3):
            publisher.check_now()
        publisher.offer(an_inventory())
        server.wait_until(server.is_whole)

    assert server.devices() == ["gpu-0", "gpu-1"]
    assert server.attempts == 1


def test_waiting_times_double_until_something_works() -> None:
    back_off = BackOff(30)
    error = UnreachableError("down")

    waits = [back_off.after(error) for _ in range(20)]

    assert waits[0] <= 0.5
    assert max(waits) <= 30
    assert waits[-1] >= 15
    back_off.reset()
    assert back_off.after(error) <= 0.5


def test_what_validation_refused_is_not_sent_again_soon() -> None:
    assert BackOff(30).after(InvalidError(422, "spec.devices")) == 300


def test_the_servers_own_wish_counts() -> None:
    assert BackOff(30).after(StatusError(429, "busy", retry_after_seconds=7)) == 7
