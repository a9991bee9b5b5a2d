"""The agents' socket: checks who speaks and how fast, and hands frames to the session.

A watch beside the reading closes the connection if no hello comes in time, and asks about
the token again once a minute, so that an expired or revoked one is good no longer.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs

import structlog
from channels.db import database_sync_to_async
from redis import RedisError

from dra_console.events import announce
from dra_console.live.agent_session import AgentSession
from dra_console.live.allowance import FrameAllowance
from dra_console.live.closing import CloseCode, ClosingError
from dra_console.live.guarded import GuardedConsumer
from dra_console.live.tokens import Agent, agent_of_token
from dra_console.telemetry.connections import redis_for_consumers
from dra_console.telemetry.messages import FrameError, Hello, decode_frame

HELLO_SECONDS: Final = 5
TOKEN_CHECK_SECONDS: Final = 60
FRAMES_PER_SECOND: Final = 10
FRAMES_BURST: Final = 60
"""A node may prepare many claims in one moment, and tells of each."""

log = structlog.get_logger()


class AgentConsumer(GuardedConsumer):
    """One agent's connection."""

    # Nobody speaks to an agent through the channel layer, and a channel costs a subscription
    # in Redis: no layer of this name is configured, so channels makes none.
    channel_layer_alias = "none"

    def __init__(self) -> None:
        """Start unknown; `connect` finds out who it is."""
        super().__init__()
        self._session: AgentSession | None = None
        self._allowance = FrameAllowance(burst=FRAMES_BURST, per_second=FRAMES_PER_SECOND)
        self._introduced = asyncio.Event()
        self._is_losing_frames = False

    async def connect(self) -> None:
        """Accept whoever shows an agent's token; a browser is refused unseen."""
        headers = dict(self.scope["headers"])
        if b"origin" in headers:
            await self.close()
            return
        await self.accept()
        await self.guard(self._begin(headers.get(b"authorization", b"")))

    async def receive(
        self,
        text_data: str | None = None,
        bytes_data: bytes | None = None,  # noqa: ARG002 - channels' signature
    ) -> None:
        """Take one frame."""
        if self._session is not None and not self._is_closed:
            await self.guard(self._take(self._session, text_data))

    async def _begin(self, authorization: bytes) -> None:
        scheme, _, token = authorization.decode("latin1").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise ClosingError(
                CloseCode.NOT_AUTHENTICATED, "expected the header Authorization: Bearer <token>"
            )
        query = parse_qs(self.scope["query_string"].decode("latin1"))
        cluster_name = query.get("cluster", [""])[0]
        agent = await _checked(token, cluster_name=cluster_name)
        self._session = AgentSession(agent, client=redis_for_consumers(), announce=announce)
        # By name from now on: a second cluster that is added later must not end this line.
        self.run_beside(self._keep_watch(self._session, token, cluster_name=agent.cluster_name))

    async def _take(self, session: AgentSession, text: str | None) -> None:
        if not self._allowance.take(time.monotonic()):
            raise ClosingError(CloseCode.TOO_FAST, f"over {FRAMES_PER_SECOND} frames a second")
        if text is None:
            raise FrameError("", "expected a text frame, got a binary one")
        frame = decode_frame(text)
        try:
            answer = await session.take(frame, received_at=datetime.now(UTC))
        except RedisError as error:
            if isinstance(frame, Hello):
                raise
            # The next frame says everything again; closing would only add a storm of
            # reconnecting agents to whatever troubles Redis.
            if not self._is_losing_frames:
                log.warning("agent's frames lost", error=str(error))
            self._is_losing_frames = True
            return
        self._is_losing_frames = False
        if answer is not None:
            self._introduced.set()
            await self.send(text_data=answer)

    async def _keep_watch(self, session: AgentSession, token: str, *, cluster_name: str) -> None:
        try:
            await asyncio.wait_for(self._introduced.wait(), HELLO_SECONDS)
        except TimeoutError:
            raise ClosingError(
                CloseCode.NO_HELLO_IN_TIME, f"no hello within {HELLO_SECONDS} s"
            ) from None
        while True:
            await asyncio.sleep(TOKEN_CHECK_SECONDS)
            await _checked(token, cluster_name=cluster_name)
            await session.check_owner()


async def _checked(token: str, *, cluster_name: str) -> Agent:
    # Not on the one thread that consumers' database calls share by default: an API server
    # that is slow to answer must not hold up the browsers.
    ask = database_sync_to_async(agent_of_token, thread_sensitive=False)
    agent = await ask(token, cluster_name=cluster_name)
    if agent is None:
        raise ClosingError(CloseCode.NOT_AUTHENTICATED, "not the token of a node's agent")
    return agent
