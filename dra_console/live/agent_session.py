"""What an agent's frames do, once its token has been checked: live state goes to Redis.

Nothing is sent on to browsers for each sample: the tick of whichever process has browsers
reads the latest state once a second. Only when what a node has prepared changes are the
claims' topics told.
"""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog
from channels.db import database_sync_to_async
from redis.asyncio import Redis

from dra_console.events import claim_topic, claims_topic
from dra_console.live.closing import CloseCode, ClosingError
from dra_console.live.tokens import Agent
from dra_console.telemetry import record
from dra_console.telemetry.messages import (
    AgentFrame,
    Claims,
    FrameError,
    Hello,
    Naming,
    Sample,
    encode_welcome,
)
from dra_console.telemetry.record import AgentConnection, Owner
from dra_console.telemetry.records import HISTORY_INTERVAL_SECONDS
from dra_console.telemetry.uuids import PublishedNames, published_names

# A sample that comes a little early still belongs to its interval.
_HISTORY_INTERVAL: Final = timedelta(seconds=HISTORY_INTERVAL_SECONDS - 0.5)

_NAMES_INTERVAL: Final = timedelta(seconds=10)
"""How long the names that another driver gave its devices count as known."""

log = structlog.get_logger()


class AgentSession:
    """One agent's frames, in their order: `hello`, then samples and claims."""

    def __init__(
        self, agent: Agent, *, client: Redis, announce: Callable[[str], Awaitable[None]]
    ) -> None:
        """Take who the token says it is, and how to tell browsers that a topic changed."""
        self._agent = agent
        self._client = client
        self._announce = announce
        self._connection: AgentConnection | None = None
        self._last_seq = 0
        self._last_history_at: datetime | None = None
        self._names: PublishedNames | None = None
        self._named_at: datetime | None = None

    async def take(self, frame: AgentFrame, *, received_at: datetime) -> str | None:
        """Record what the frame says; give the answer, if the wire has one.

        Raises:
            FrameError: it comes out of order.
            ClosingError: it speaks for another node, or a newer connection speaks for this one.

        """
        if isinstance(frame, Hello):
            await self._take_hello(frame, received_at=received_at)
            return encode_welcome()
        if self._connection is None:
            raise FrameError("type", "expected hello first")
        if frame.seq <= self._last_seq:
            raise FrameError("seq", f"expected more than {self._last_seq}, got {frame.seq}")
        self._last_seq = frame.seq
        match frame:
            case Sample():
                sample = await self._named(frame, self._connection, received_at=received_at)
                await self._take_sample(sample, self._connection, received_at=received_at)
            case Claims():
                await self._take_claims(frame, self._connection, received_at=received_at)
        return None

    async def check_owner(self) -> None:
        """Look whether a newer connection speaks for the node.

        Raises:
            ClosingError: one does.

        """
        if self._connection is not None:
            owner = await record.owner_of(self._client, self._connection)
            if owner is Owner.ANOTHER:
                raise self._replaced()

    async def _take_hello(self, hello: Hello, *, received_at: datetime) -> None:
        if self._connection is not None:
            raise FrameError("type", "expected one hello, got another")
        if hello.node != self._agent.node_name:
            raise ClosingError(
                CloseCode.WRONG_NODE, f"node: the token is bound to {self._agent.node_name}"
            )
        connection = AgentConnection(
            cluster_id=self._agent.cluster_id,
            hello=hello,
            connected_at=received_at,
            connection_id=uuid.uuid4().hex,
        )
        await record.record_hello(self._client, connection, received_at=received_at)
        self._connection = connection
        log.info("agent connected", node=hello.node, version=hello.agent_version)

    async def _take_sample(
        self, sample: Sample, connection: AgentConnection, *, received_at: datetime
    ) -> None:
        owner = await record.record_sample(
            self._client, connection, sample=sample, received_at=received_at
        )
        if owner is Owner.ANOTHER:
            raise self._replaced()
        if owner is Owner.NOBODY:
            await record.record_hello(self._client, connection, received_at=received_at)
        last_at = self._last_history_at
        if last_at is None or received_at - last_at >= _HISTORY_INTERVAL:
            self._last_history_at = received_at
            await record.record_history(
                self._client, connection, sample=sample, received_at=received_at
            )

    async def _named(
        self, sample: Sample, connection: AgentConnection, *, received_at: datetime
    ) -> Sample:
        """Give the devices their published names, where the agent does not know them."""
        if connection.hello.naming is Naming.PUBLISHED:
            return sample
        at = self._named_at
        if self._names is None or at is None or received_at - at >= _NAMES_INTERVAL:
            # Beside the one thread that browsers' questions share.
            ask = database_sync_to_async(published_names, thread_sensitive=False)
            self._names = await ask(connection.cluster_id, connection.hello)
            self._named_at = received_at
            await self._take_pool(self._names.pool, connection, received_at=received_at)
        return self._names.applied_to(sample)

    async def _take_pool(
        self, pool: str | None, connection: AgentConnection, *, received_at: datetime
    ) -> None:
        if pool is None or pool == connection.pool:
            return
        if await record.owner_of(self._client, connection) is Owner.ANOTHER:
            raise self._replaced()
        hello = msgspec.structs.replace(connection.hello, pool=pool)
        self._connection = replace(connection, hello=hello)
        await record.record_hello(self._client, self._connection, received_at=received_at)

    async def _take_claims(
        self, claims: Claims, connection: AgentConnection, *, received_at: datetime
    ) -> None:
        changed = await record.record_claims(
            self._client, connection, claims=claims, received_at=received_at
        )
        if changed is None:
            raise self._replaced()
        for uid in sorted(changed):
            await self._announce(claim_topic(connection.cluster_id, uid))
        if changed:
            await self._announce(claims_topic(connection.cluster_id))

    def _replaced(self) -> ClosingError:
        log.info("agent replaced", node=self._agent.node_name)
        return ClosingError(CloseCode.REPLACED, "a newer connection speaks for this node")
