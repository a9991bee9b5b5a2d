"""The live link against a real WebSocket server that plays the console."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from nodeagent.claims.ledger import Ledger
from nodeagent.devices.details import Details
from nodeagent.devices.model import Reading, Source
from nodeagent.telemetry import link as link_module
from nodeagent.telemetry.link import Link
from nodeagent.telemetry.messages import Identity, Sample
from nodeagent.telemetry.outbox import SAMPLES_KEPT, Outbox
from tests.builders.agents import NOW, an_entry
from tests.settings import free_port

WELCOME = json.dumps({"type": "welcome", "v": 1, "sample_interval_seconds": 1})
PATIENCE_SECONDS = 20


@dataclass
class Console:
    """Takes connections as the console does, and remembers what came."""

    port: int
    answer: str = WELCOME
    close_with: int | None = None
    tokens: list[str] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)
    connections: list[ServerConnection] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Server]:
        async with serve(self._take, "127.0.0.1", self.port) as server:
            yield server

    async def frames_of(self, kind: str, count: int) -> list[dict[str, Any]]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = [frame for frame in self.frames if frame["type"] == kind]
                if len(found) >= count:
                    return found
                await asyncio.sleep(0.01)

    async def _take(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        assert connection.request is not None
        self.tokens.append(connection.request.headers.get("Authorization", ""))
        try:
            self.frames.append(json.loads(await connection.recv()))
            if self.close_with is not None:
                await connection.close(self.close_with, "not this one")
                return
            await connection.send(self.answer)
            async for message in connection:
                self.frames.append(json.loads(message))
        except ConnectionClosed:
            return


@dataclass
class Node:
    """The agent's end: a link in its own thread, and what feeds it."""

    ledger: Ledger
    outbox: Outbox
    token_file: Path
    link: Link
    thread: threading.Thread

    def sample(self, second: float, details: Mapping[str, Details] | None = None) -> None:
        reading = Reading(device="gpu-0", uuid="GPU-0", utilisation_percent=int(second) % 100)
        self.outbox.offer(Sample(NOW + timedelta(seconds=second), (reading,), details or {}))

    def prepare(self, uid: str) -> None:
        with self.ledger.held():
            self.ledger.put(an_entry(uid))


@pytest.fixture
def console() -> Console:
    return Console(free_port())


@pytest.fixture
def node(console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(link_module, "FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(link_module, "LONGEST_PAUSE_SECONDS", 0.2)
    ledger, outbox = Ledger(tmp_path, boot_id="boot-1"), Outbox()
    ledger.on_change(outbox.note_claims)
    token_file = tmp_path / "token"
    token_file.write_text("first\n")
    identity = Identity(
        node_name="gpu-01",
        driver="gpu.nvidia.com",
        pool="gpu-01",
        source=Source.SIMULATED,
        boot_id="boot-1",
    )
    link = Link(
        f"ws://127.0.0.1:{console.port}/ws/v1/agents",
        token_file=token_file,
        identity=identity,
        outbox=outbox,
        ledger=ledger,
    )
    thread = threading.Thread(target=link.run)
    thread.start()
    yield Node(ledger, outbox, token_file, link, thread)
    link.stop()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


async def test_it_says_hello_then_claims_then_samples(console: Console, node: Node) -> None:
    node.prepare("uid-1")
    async with console.serving():
        node.sample(0)
        await console.frames_of("sample", 1)

    assert [frame["type"] for frame in console.frames] == ["hello", "claims", "sample"]
    assert [frame["seq"] for frame in console.frames[1:]] == [1, 2]
    assert [claim["uid"] for claim in console.frames[1]["claims"]] == ["uid-1"]
    assert console.tokens == ["Bearer first"]


async def test_each_change_of_claims_sends_the_complete_list(console: Console, node: Node) -> None:
    async with console.serving():
        await console.frames_of("claims", 1)
        node.prepare("uid-1")
        await console.frames_of("claims", 2)
        node.prepare("uid-2")
        lists = await console.frames_of("claims", 3)

    assert [[claim["uid"] for claim in frame["claims"]] for frame in lists] == [
        [],
        ["uid-1"],
        ["uid-1", "uid-2"],
    ]


@pytest.mark.usefixtures("node")
async def test_the_list_of_claims_is_repeated(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "CLAIMS_SECONDS", 0.1)
    async with console.serving():
        assert len(await console.frames_of("claims", 3)) >= 3


async def test_samples_come_no_faster_than_the_console_wants(console: Console, node: Node) -> None:
    console.answer = WELCOME.replace("1}", "2}")
    async with console.serving():
        await console.frames_of("claims", 1)
        for second in range(6):
            node.sample(second)
            await asyncio.sleep(0.02)
        samples = await console.frames_of("sample", 3)

    assert [frame["devices"][0]["utilisation_percent"] for frame in samples] == [0, 2, 4]


async def test_a_clock_that_was_set_back_does_not_silence_the_node(
    console: Console, node: Node
) -> None:
    async with console.serving():
        node.sample(3600)
        await console.frames_of("sample", 1)
        node.sample(0)
        assert len(await console.frames_of("sample", 2)) == 2


async def test_a_console_that_comes_late_gets_the_newest_samples_only(
    console: Console, node: Node
) -> None:
    for second in range(50):
        node.sample(second)
    async with console.serving():
        samples = await console.frames_of("sample", SAMPLES_KEPT)

    values = [frame["devices"][0]["utilisation_percent"] for frame in samples]
    assert values == list(range(50 - SAMPLES_KEPT, 50))


async def test_after_a_restart_of_the_console_all_begins_again_with_the_new_token(
    console: Console, node: Node
) -> None:
    async with console.serving():
        await console.frames_of("claims", 1)
    node.token_file.write_text("second")
    first = len(console.frames)
    async with console.serving():
        await console.frames_of("hello", 2)
        await console.frames_of("claims", 2)

    assert console.tokens[0] == "Bearer first"
    assert console.tokens[-1] == "Bearer second"
    assert [frame["seq"] for frame in console.frames[first + 1 :]][:1] == [1]


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("code", [4401, 4403, 4409])
async def test_a_console_that_closes_is_tried_again(console: Console, code: int) -> None:
    console.close_with = code
    async with console.serving():
        await console.frames_of("hello", 2)
        console.close_with = None
        assert await console.frames_of("claims", 1)


@pytest.mark.usefixtures("node")
async def test_an_agent_leaves_the_word_to_the_one_that_has_replaced_it(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "LONGEST_PAUSE_SECONDS", 2)
    console.close_with = 4409
    async with console.serving():
        await console.frames_of("hello", 1)
        console.close_with = None
        began = time.monotonic()
        # It tries once more, in case the other one ends without a successor.
        await console.frames_of("claims", 1)

    assert time.monotonic() - began >= 1.9


@pytest.mark.usefixtures("node")
async def test_an_answer_that_is_no_welcome_ends_the_connection(console: Console) -> None:
    console.answer = '{"type": "goodbye", "v": 1}'
    async with console.serving():
        await console.frames_of("hello", 2)

    assert {frame["type"] for frame in console.frames} == {"hello"}


async def test_a_missing_token_file_is_waited_for(console: Console, node: Node) -> None:
    node.token_file.unlink()
    # Nobody listens yet: an attempt that read the file before it went is refused meanwhile.
    await asyncio.sleep(0.5)
    async with console.serving():
        await asyncio.sleep(0.3)
        node.token_file.write_text("late")
        await console.frames_of("claims", 1)

    assert console.tokens[-1] == "Bearer late"


async def test_nothing_that_feeds_the_link_waits_for_it(node: Node) -> None:
    began = datetime.now(UTC)
    for second in range(10_000):
        node.sample(second)
        node.outbox.note_claims()

    assert datetime.now(UTC) - began < timedelta(seconds=5)


async def test_details_are_told_when_they_are_new_and_again_on_a_new_connection(
    console: Console, node: Node
) -> None:
    first, second = (
        {"gpu-0": Details(device="gpu-0", fan_percent=percent)} for percent in (30, 31)
    )
    async with console.serving():
        for at, details in enumerate((first, first, second, second)):
            node.sample(at, details)
            await console.frames_of("sample", at + 1)
        await console.connections[-1].close()
        await console.frames_of("hello", 2)
        node.sample(4, second)
        samples = await console.frames_of("sample", 5)

    told = [frame["devices"][0].get("details") for frame in samples]
    assert told == [{"fan_percent": 30}, None, {"fan_percent": 31}, None, {"fan_percent": 31}]
