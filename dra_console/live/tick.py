"""Once a second, tell this process' browsers the latest state of the nodes they watch.

Agents write to Redis from whichever process they are connected to; each process with
browsers reads the nodes that those watch, in one round trip, and leaves one text for each
topic in the outbox of everybody who watches it. The cost of a second is thus bounded by
nodes watched and browsers, whatever the agents send, and nothing is queued.

While Redis cannot be read, the last known states are told on, with their growing age: they
turn stale instead of staying silent. `seq` counts the process' seconds, so that a browser
which lost some can tell.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final
from weakref import WeakKeyDictionary

import structlog
from redis import RedisError
from redis.asyncio import Redis

from dra_console.events import telemetry_topic
from dra_console.live.frames import ALIVE, telemetry_frame
from dra_console.live.outbox import DropOldestOutbox
from dra_console.telemetry.connections import redis_for_consumers
from dra_console.telemetry.states import NodeKey, NodeState, node_states

INTERVAL_SECONDS: Final = 1.0
ALIVE_EVERY_TICKS: Final = 15

log = structlog.get_logger()


class Tick:
    """The timer of one process; runs while there is an outbox."""

    def __init__(self, client: Redis) -> None:
        """Start with nobody to tell."""
        self._client = client
        self._topics_by_outbox: dict[DropOldestOutbox, dict[str, NodeKey]] = {}
        self._states: dict[NodeKey, NodeState] = {}
        self._seq = 0
        self._running: asyncio.Task[None] | None = None

    def join(self, outbox: DropOldestOutbox) -> None:
        """Tell this outbox that the line is alive, and soon what its owner watches."""
        self._topics_by_outbox[outbox] = {}
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
            self._running.add_done_callback(_report_failure)

    def leave(self, outbox: DropOldestOutbox) -> None:
        """Tell this outbox nothing more."""
        self._topics_by_outbox.pop(outbox, None)
        if not self._topics_by_outbox and self._running is not None:
            self._running.cancel()
            self._running = None

    def watch(self, outbox: DropOldestOutbox, nodes: Iterable[NodeKey]) -> None:
        """Replace the nodes that the outbox is told about."""
        self._topics_by_outbox[outbox] = {
            telemetry_topic(node.cluster_id, node.node_name): node for node in nodes
        }

    async def tell(self, *, now: datetime) -> None:
        """Read what is watched and leave it in the outboxes."""
        self._seq += 1
        watched = {
            topic: node
            for topics in self._topics_by_outbox.values()
            for topic, node in topics.items()
        }
        await self._read(set(watched.values()))
        text_by_topic = {
            topic: telemetry_frame(topic, state, seq=self._seq, now=now)
            for topic, node in watched.items()
            if (state := self._states.get(node))
        }
        for outbox, topics in self._topics_by_outbox.items():
            for topic in topics:
                if text := text_by_topic.get(topic):
                    outbox.put(topic, text)
            if self._seq % ALIVE_EVERY_TICKS == 0:
                outbox.put("alive", ALIVE)

    async def _read(self, nodes: set[NodeKey]) -> None:
        try:
            self._states = await node_states(self._client, nodes) if nodes else {}
        except RedisError as error:
            log.warning("live state not read", error=str(error))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due_at = loop.time()
        while True:
            await self.tell(now=datetime.now(UTC))
            # Seconds that were missed are not made up for.
            due_at = max(due_at + INTERVAL_SECONDS, loop.time())
            await asyncio.sleep(due_at - loop.time())


def _report_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("tick ended", exc_info=error)


_by_loop: WeakKeyDictionary[AbstractEventLoop, Tick] = WeakKeyDictionary()


def running_tick() -> Tick:
    """Give the process' timer; tests have one for each event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Tick(redis_for_consumers())
    return _by_loop[loop]
