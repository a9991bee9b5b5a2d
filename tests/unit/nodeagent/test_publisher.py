"""The publisher's threads against an API server in memory that can misbehave."""

import copy
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from nodeagent.devices.model import Inventory, Source
from nodeagent.fields import JsonObject
from nodeagent.kube.errors import (
    ConflictError,
    ExpiredError,
    InvalidError,
    KubeError,
    NotFoundError,
    StatusError,
    UnreachableError,
)
from nodeagent.kube.resources import Listed, WatchEvent
from nodeagent.publish import publisher as publisher_module
from nodeagent.publish.back_off import BackOff
from nodeagent.publish.publisher import Publisher
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory

PATIENCE_SECONDS = 10


@dataclass
class SliceServer:
    """Stores slices, numbers its writes, and tells of them as a watch does."""

    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    writes: int = 0
    drops_counters: bool = False
    hides_events: bool = False
    failures: list[KubeError] = field(default_factory=list)
    """Raised by the next writes, one each."""

    list_failures: list[KubeError] = field(default_factory=list)
    attempts: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    _version: int = 0
    _events: "queue.SimpleQueue[WatchEvent | KubeError]" = field(default_factory=queue.SimpleQueue)

    def node(self, name: str) -> JsonObject:
        return {"metadata": {"name": name, "uid": f"uid-of-{name}"}}

    def slices(self) -> Listed:
        with self.changed:
            if self.list_failures:
                raise self.list_failures.pop(0)
            return Listed(tuple(copy.deepcopy(list(self.stored.values()))), str(self._version))

    def watch_slices(self, *, resource_version: str, window_seconds: int) -> Iterator[WatchEvent]:
        assert resource_version
        assert window_seconds
        while True:
            event = self._events.get()
            if isinstance(event, KubeError):
                raise event
            yield event

    def break_watch(self, error: KubeError) -> None:
        self._events.put(error)

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        body: dict[str, Any] = copy.deepcopy(slice_object)
        with self.changed:
            self._attempt()
            name = f"{body['metadata']['generateName']}{self._version:05}"
            body["metadata"] |= {"name": name, "uid": f"uid-{self._version}"}
            return self._store(body, "ADDED")

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        body: dict[str, Any] = copy.deepcopy(slice_object)
        with self.changed:
            self._attempt()
            self._check(body["metadata"]["name"], body["metadata"]["resourceVersion"])
            return self._store(body, "MODIFIED")

    def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        with self.changed:
            self._attempt()
            self._check(name, resource_version)
            assert self.stored[name]["metadata"]["uid"] == uid
            self._remove(name)

    def wipe(self) -> None:
        """Delete all, as kubelet does."""
        with self.changed:
            for name in list(self.stored):
                self._remove(name)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, PATIENCE_SECONDS)

    def is_whole(self) -> bool:
        pools = [one["spec"]["pool"] for one in self.stored.values()]
        return bool(pools) and all(
            pool == pools[0] and pool["resourceSliceCount"] == len(pools) for pool in pools
        )

    def devices(self) -> list[str]:
        return [
            device["name"]
            for name in sorted(self.stored)
            for device in self.stored[name]["spec"].get("devices", [])
        ]

    def _attempt(self) -> None:
        self.attempts += 1
        self.changed.notify_all()
        if self.failures:
            raise self.failures.pop(0)

    def _check(self, name: str, resource_version: str) -> None:
        if name not in self.stored:
            raise NotFoundError(404, name)
        if self.stored[name]["metadata"]["resourceVersion"] != resource_version:
            raise ConflictError(409, name)

    def _store(self, body: dict[str, Any], event: str) -> JsonObject:
        if self.drops_counters:
            body["spec"].pop("sharedCounters", None)
            for device in body["spec"].get("devices", []):
                device.pop("consumesCounters", None)
        self.writes += 1
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        self.stored[body["metadata"]["name"]] = body
        self._tell(event, body)
        return copy.deepcopy(body)

    def _remove(self, name: str) -> None:
        self._version += 1
        self._tell("DELETED", self.stored.pop(name))

    def _tell(self, event: str, body: dict[str, Any]) -> None:
        if not self.hides_events:
            self._events.put(WatchEvent(event, copy.deepcopy(body)))
        self.changed.notify_all()


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
    monkeypatch.setattr(publisher_module, "INVENTORY_SECONDS", 0.01)
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

    assert server.writes == 2


def test_new_hardware_is_one_write_in_place() -> None:
    server = SliceServer()
    with publishing(server, an_inventory()) as publisher:
        server.wait_until(server.is_whole)
        name = next(iter(server.stored))
        publisher.offer(Inventory.of([a_gpu(n) for n in range(3)], source=Source.SIMULATED))
        server.wait_until(lambda: len(server.devices()) == 3)

    assert list(server.stored) == [name]
    assert server.writes == 2


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

    assert server.attempts == 4


def test_a_slice_that_somebody_changed_in_between_is_put_right() -> None:
    server = SliceServer()
    with publishing(server, an_inventory()) as publisher:
        server.wait_until(server.is_whole)
        with server.changed:
            server.hides_events = True
            foreign = copy.deepcopy(next(iter(server.stored.values())))
            foreign["spec"]["devices"] = []
            server._store(foreign, "MODIFIED")
        publisher.offer(Inventory.of([a_gpu(0)], source=Source.SIMULATED))
        server.wait_until(lambda: server.devices() == ["gpu-0"])


def test_a_server_that_cannot_be_listed_is_tried_again() -> None:
    server = SliceServer(list_failures=[UnreachableError("down"), StatusError(503, "starting")])
    with publishing(server, an_inventory()):
        server.wait_until(server.is_whole)


def test_partitions_are_withdrawn_where_counters_are_dropped() -> None:
    """Overlapping partitions without counters would be allocated twice."""
    server = SliceServer(drops_counters=True)
    ever_published: set[str] = set()

    def is_withdrawn() -> bool:
        ever_published.update(server.devices())
        return server.is_whole() and server.writes >= 2

    with publishing(server, a_mig_inventory()):
        server.wait_until(is_withdrawn)

    assert server.devices() == []
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
