"""What is told of claims, to an API server that is not always there."""

import threading
from dataclasses import dataclass, field, replace

from nodeagent.claims.device_status import DeviceStatus
from nodeagent.claims.entry import Entry, State
from nodeagent.fields import Json
from nodeagent.kube.errors import NotServedError, UnreachableError
from tests.builders.agents import a_planned_device, an_entry
from tests.builders.objects import DRIVER


@dataclass(slots=True)
class Server:
    """Keeps what it is told."""

    said: list[tuple[str, list[Json]]] = field(default_factory=list)
    is_reachable: bool = True
    is_served: bool = True
    heard: threading.Event = field(default_factory=threading.Event)

    def apply_claim_devices(
        self, namespace: str, name: str, *, uid: str, devices: list[Json]
    ) -> None:
        if not self.is_reachable:
            raise UnreachableError(f"{namespace}/{name} ({uid}): connection refused")
        if not self.is_served:
            raise NotServedError(404, "the server could not find the requested resource")
        self.said.append((name, devices))
        self.heard.set()


def a_status(server: Server, entries: dict[str, Entry]) -> DeviceStatus:
    return DeviceStatus(server, lambda: entries, driver=DRIVER)


def test_nothing_is_told_twice() -> None:
    server, entries = Server(), {"uid-1": an_entry()}
    status = a_status(server, entries)

    assert status.write_due()
    assert status.write_due()

    assert [name for name, _ in server.said] == ["claim-uid-1"]


def test_what_could_not_be_told_is_told_later() -> None:
    server, entries = Server(is_reachable=False), {"uid-1": an_entry()}
    status = a_status(server, entries)
    assert not status.write_due()

    server.is_reachable = True
    assert status.write_due()

    assert len(server.said) == 1


def test_claims_are_told_and_taken_back_once_their_kind_is_served_again() -> None:
    server, entries = Server(is_served=False), {"uid-1": an_entry()}
    status = a_status(server, entries)
    assert not status.write_due()
    server.is_served = True
    assert status.write_due()

    entries.clear()
    server.is_served = False
    assert not status.write_due()
    server.is_served = True
    assert status.write_due()

    assert [len(devices) for _, devices in server.said] == [1, 0]


def test_only_prepared_claims_are_told_and_undone_ones_taken_back() -> None:
    entry = an_entry()
    server, entries = Server(), {"uid-1": replace(entry, state=State.STARTED)}
    status = a_status(server, entries)
    status.write_due()
    assert server.said == []

    entries["uid-1"] = entry
    status.write_due()
    entries["uid-1"] = replace(entry, state=State.UNPREPARED, devices=())
    status.write_due()

    assert [len(devices) for _, devices in server.said] == [1, 0]


def test_two_results_of_one_device_are_one_device_and_shares_are_told_apart() -> None:
    twice = [a_planned_device(requests=(name,), admin_access=True) for name in ("a", "b")]
    shares = [a_planned_device("m0", share_id=share) for share in ("s1", "s2")]
    server, entries = Server(), {"uid-1": an_entry("uid-1", *twice, *shares)}

    a_status(server, entries).write_due()

    ((_, devices),) = server.said
    told = [
        (device["device"], device.get("shareID")) for device in devices if isinstance(device, dict)
    ]
    assert told == [("gpu-0", None), ("m0", "s1"), ("m0", "s2")]


def test_a_change_wakes_the_thread() -> None:
    server, entries = Server(), dict[str, Entry]()
    status = a_status(server, entries)
    thread = threading.Thread(target=status.run)
    thread.start()

    entries["uid-1"] = an_entry()
    status.look_again()

    assert server.heard.wait(10)
    status.stop()
    thread.join(10)
    assert not thread.is_alive()
