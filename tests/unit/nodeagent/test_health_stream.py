"""What kubelet is told about devices, and when (node-agent.md 1.5, 6.5)."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import Empty, Queue
from typing import Any, NoReturn, cast

import grpc
import pytest

from nodeagent.health.report import STALE_SECONDS, DeviceHealth, Reports, Status
from nodeagent.kubelet.health import MOST_STREAMS, Health
from nodeagent.kubelet.proto import health_v1_pb2 as wire

SINCE = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
AT_ONCE_SECONDS = 3.0
QUIET_SECONDS = 0.4


class RefusedError(Exception):
    """The call was aborted."""


@dataclass(slots=True)
class Call:
    """One open call, as far as the service looks at it."""

    is_open: bool = True
    heard: Queue[wire.NodeWatchResourcesResponse] = field(default_factory=Queue)
    ended: threading.Event = field(default_factory=threading.Event)

    def is_active(self) -> bool:
        return self.is_open

    def abort(self, code: grpc.StatusCode, _details: str) -> NoReturn:
        raise RefusedError(code.name)

    def next(self) -> dict[str, wire.DeviceHealth]:
        heard = self.heard.get(timeout=AT_ONCE_SECONDS)
        return {one.device.device_name: one for one in heard.devices}

    def hears_nothing(self) -> bool:
        try:
            self.heard.get(timeout=QUIET_SECONDS)
        except Empty:
            return True
        return False


def open_call(health: Health) -> Call:
    call = Call()
    details = _HandlerDetails("/v1.DRAResourceHealth/NodeWatchResources")
    (handler,) = (found for one in health.handlers() if (found := one.service(details)) is not None)

    def run() -> None:
        try:
            watch: Callable[..., Iterator[Any]] = cast("Any", handler).unary_stream
            for message in watch(wire.NodeWatchResourcesRequest(), call):
                call.heard.put(message)
        finally:
            call.ended.set()

    threading.Thread(target=run, daemon=True).start()
    return call


@dataclass(frozen=True, slots=True)
class _HandlerDetails(grpc.HandlerCallDetails):
    method: str
    invocation_metadata: tuple[()] = ()


def a_device(
    device: str = "gpu-0", status: Status = Status.HEALTHY, message: str = ""
) -> DeviceHealth:
    return DeviceHealth(device=device, status=status, message=message, since=SINCE)


@pytest.fixture
def seconds() -> list[float]:
    """How far the clock of the reports goes before, in its only element."""
    return [0.0]


@pytest.fixture
def reports(seconds: list[float]) -> Iterator[Reports]:
    reports = Reports(monotonic=lambda: time.monotonic() + seconds[0])
    yield reports
    reports.close()


def test_all_devices_are_told_at_once_and_again_at_each_change(reports: Reports) -> None:
    reports.put((a_device("gpu-0"), a_device("gpu-1")))
    call = open_call(Health(reports, "node-1"))

    assert {name: one.health for name, one in call.next().items()} == {
        "gpu-0": wire.HEALTHY,
        "gpu-1": wire.HEALTHY,
    }
    reports.put((a_device("gpu-0"), a_device("gpu-1", Status.UNHEALTHY, "Xid 79")))
    changed = call.next()

    assert {name: one.health for name, one in changed.items()} == {
        "gpu-0": wire.HEALTHY,
        "gpu-1": wire.UNHEALTHY,
    }
    assert changed["gpu-1"].message == "Xid 79"
    assert changed["gpu-1"].device.pool_name == "node-1"
    assert changed["gpu-1"].health_check_timeout_seconds == 60
    # The time of sending: kubelet may take one of hours ago for expired.
    assert abs(changed["gpu-1"].last_updated_time - datetime.now(UTC).timestamp()) < 60


def test_without_a_change_a_heartbeat_says_it_again(reports: Reports) -> None:
    reports.put((a_device(),))
    call = open_call(Health(reports, "node-1", heartbeat_seconds=0.2))

    assert [list(call.next()) for _ in range(3)] == [["gpu-0"]] * 3


def test_between_heartbeats_nothing_is_said(reports: Reports) -> None:
    reports.put((a_device(),))
    call = open_call(Health(reports, "node-1"))
    call.next()

    reports.put((a_device(),))

    assert call.hears_nothing()


def test_old_good_news_is_not_repeated_when_nobody_looks_any_more(
    reports: Reports, seconds: list[float]
) -> None:
    reports.put((a_device(),))
    call = open_call(Health(reports, "node-1"))
    assert call.next()["gpu-0"].health == wire.HEALTHY

    seconds[0] += STALE_SECONDS
    reports.wake()
    later = call.next()["gpu-0"]

    assert later.health == wire.UNKNOWN
    assert "not looked at" in later.message


def test_before_the_first_look_nothing_is_said_of_any_device(reports: Reports) -> None:
    call = open_call(Health(reports, "node-1", heartbeat_seconds=0.1))

    assert call.hears_nothing()
    reports.put((a_device(),))

    assert list(call.next()) == ["gpu-0"]


def test_a_stream_ends_with_its_call_and_leaves_room_for_the_next(reports: Reports) -> None:
    reports.put((a_device(),))
    health = Health(reports, "node-1")
    calls = [open_call(health) for _ in range(MOST_STREAMS)]
    for call in calls:
        call.next()

    for call in calls:
        call.is_open = False

    assert all(call.ended.wait(AT_ONCE_SECONDS) for call in calls)
    assert list(open_call(health).next()) == ["gpu-0"]


def test_more_streams_than_kubelet_can_want_are_refused(reports: Reports) -> None:
    reports.put((a_device(),))
    health = Health(reports, "node-1")
    for _ in range(MOST_STREAMS):
        open_call(health).next()

    with ThreadPoolExecutor(1) as thread, pytest.raises(RefusedError, match="RESOURCE_EXHAUSTED"):
        thread.submit(
            next, health._watch(wire.NodeWatchResourcesRequest(), cast("Any", Call()))
        ).result()


def test_the_last_word_of_an_agent_that_stops_is_no_health_at_all(reports: Reports) -> None:
    reports.put((a_device(),))
    call = open_call(Health(reports, "node-1"))
    call.next()

    reports.close()

    assert call.ended.wait(AT_ONCE_SECONDS)
    assert call.heard.empty()


def test_everything_is_said_again_to_every_stream_when_a_peer_came_or_went(
    reports: Reports,
) -> None:
    reports.put((a_device("gpu-0"), a_device("gpu-1")))
    health = Health(reports, "node-1")
    calls = [open_call(health), open_call(health)]
    for call in calls:
        call.next()

    health.repeat()

    assert [list(call.next()) for call in calls] == [["gpu-0", "gpu-1"]] * 2
