"""What stands between the writes of one generation: nothing.

Consumers ignore a pool from the first slice of a new generation to the last one. How long that is
depends on the server and the machine; how many requests it takes, and of what, does not.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from nodeagent.fields import JsonObject
from nodeagent.publish import sending
from nodeagent.publish.compare import is_same
from nodeagent.publish.features import Feature
from nodeagent.publish.sending import AT_ONCE
from tests.builders.publication import (
    Publication,
    all_names,
    gpus_only,
    hopper_inventory,
    published,
)
from tests.builders.slice_server import SliceServer

PROBES_OF_COUNTERS = 2
"""One for the sets, one for devices that draw on them."""

WRITES = frozenset({"create_slice", "replace_slice"})
REQUESTS = (
    *WRITES,
    *("delete_slice", "try_slice", "slices", "server_version", "node", "create_event"),
)


@dataclass
class Traffic:
    """Every request to a server in its order, and what the pool was like after it."""

    server: SliceServer
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def while_incomplete(self) -> list[str]:
        """Return the requests from the first that left the pool incomplete to the one after."""
        following = zip([True, *(whole for _, whole in self.asked)], self.asked, strict=False)
        return [name for was_whole, (name, is_whole) in following if not (was_whole and is_whole)]


@contextmanager
def counted(server: SliceServer) -> Iterator[Traffic]:
    traffic = Traffic(server)
    with pytest.MonkeyPatch.context() as patched:
        for name in REQUESTS:
            patched.setattr(server, name, noted(traffic, name, getattr(server, name)))
        yield traffic


def noted(traffic: Traffic, name: str, request: Callable[..., Any]) -> Callable[..., Any]:
    def ask(*arguments: object, **options: object) -> object:
        # The server answers one after the other, as the log of a real one would show.
        with traffic.server.changed:
            answer = request(*arguments, **options)
            traffic.asked.append((name, traffic.server.is_whole()))
        return answer

    return ask


@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2), (3, 1), (1, 4)])
def test_nothing_but_its_writes_stands_between_the_first_and_the_last_of_a_generation(
    before: int, after: int
) -> None:
    node = published(hopper_inventory(before))
    with counted(node.server) as traffic:
        node.offer(hopper_inventory(after))
        node.run_for(10)

    assert node.server.devices() == all_names(hopper_inventory(after))
    slices = len(node.server.stored)
    assert slices > 1
    between = traffic.while_incomplete()
    assert len(between) == slices
    assert set(between) <= WRITES


def test_writes_of_a_generation_do_not_wait_for_one_anothers_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = published(hopper_inventory(2))
    together = threading.Barrier(AT_ONCE)
    replace: Callable[[JsonObject], JsonObject] = node.server.replace_slice
    create: Callable[[JsonObject], JsonObject] = node.server.create_slice
    arrived = 0

    def with_others(send: Callable[[JsonObject], JsonObject]) -> Callable[[JsonObject], JsonObject]:
        def wait_and_send(body: JsonObject) -> JsonObject:
            nonlocal arrived
            with node.server.changed:
                arrived += 1
                is_of_the_first = arrived <= AT_ONCE
            if is_of_the_first:
                together.wait(60)
            return send(body)

        return wait_and_send

    monkeypatch.setattr(node.server, "replace_slice", with_others(replace))
    monkeypatch.setattr(node.server, "create_slice", with_others(create))
    node.offer(hopper_inventory(4))
    node.run_for(10)

    # The barrier lets nobody through before as many writes as go at once are under way.
    assert arrived >= AT_ONCE
    assert node.server.is_whole()


def test_answers_are_looked_at_when_the_last_write_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = published(hopper_inventory(2))
    whole_at_each_look: list[bool] = []

    def noted_look(stored: JsonObject, sent: JsonObject) -> bool:
        whole_at_each_look.append(node.server.is_whole())
        return is_same(stored, sent)

    monkeypatch.setattr(sending, "is_same", noted_look)
    node.offer(hopper_inventory(4))
    node.run_for(10)

    assert whole_at_each_look
    assert all(whole_at_each_look)


def test_where_the_first_slice_loses_what_the_others_need_none_of_them_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The probe has met another API server than the writes do."""
    node = Publication()
    tried: Callable[[JsonObject], JsonObject] = node.server.try_slice

    def lost_afterwards(body: JsonObject) -> JsonObject:
        kept = tried(body)
        if node.server.tried == PROBES_OF_COUNTERS:
            node.server.off.add(Feature.COUNTERS)
        return kept

    monkeypatch.setattr(node.server, "try_slice", lost_afterwards)
    node.offer(hopper_inventory(2))
    node.run_for(10)

    # Whole GPUs, then one of three slices with their partitions, then whole GPUs again.
    assert [write.operation for write in node.server.log] == ["create", "replace", "replace"]
    assert node.server.devices() == gpus_only(hopper_inventory(2))
    assert node.server.is_whole()
