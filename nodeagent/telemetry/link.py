"""The live link: tell the console, as long as it listens, what the node is doing.

The agent is complete without it. The console may be down, restarted or replaced; the link then
waits with growing, jittered pauses and begins again with `hello`. The token is read from its file
for each connection, because kubelet renews it there.
"""

import asyncio
import random
import time
from collections.abc import Coroutine, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from nodeagent.claims.ledger import Ledger
from nodeagent.devices.details import Details
from nodeagent.fields import FieldError
from nodeagent.health.report import Reports
from nodeagent.telemetry.messages import (
    Identity,
    Sample,
    decode_welcome,
    encode_claims,
    encode_hello,
    encode_sample,
)
from nodeagent.telemetry.outbox import Outbox

log = structlog.get_logger()

CONNECT_SECONDS: Final = 5
WELCOME_SECONDS: Final = 5
PING_SECONDS: Final = 10
CLAIMS_SECONDS: Final = 30
"""The complete list of claims goes out at least this often, so that no loss lasts."""

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 10
"""A connection that held this long was a good one; the next pause is short again."""

REPLACED: Final = 4409
"""How the console closes a connection when a newer one speaks for the node."""

EARLY_FRACTION: Final = 0.9
"""A sample this far into the console's interval counts as due: clocks jitter."""


class Link:
    """One node's connection to the console."""

    def __init__(  # noqa: PLR0913 - what is told comes from three places
        self,
        url: str,
        *,
        token_file: Path,
        identity: Identity,
        outbox: Outbox,
        ledger: Ledger | None,
        reports: Reports | None = None,
    ) -> None:
        """Take what to tell: nothing of claims without a ledger, of health without reports."""
        self._url = url
        self._token_file = token_file
        self._identity = identity
        self._outbox = outbox
        self._ledger = ledger
        self._reports = reports
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    def run(self) -> None:
        """Connect again and again until stopped. Runs in a thread of its own."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """End the connection and the thread; callable from any thread."""
        if self._running is not None:
            loop, task = self._running
            loop.call_soon_threadsafe(task.cancel)

    async def _run(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running = (asyncio.get_running_loop(), task)
        try:
            await self._keep_connected()
        except asyncio.CancelledError:
            log.info("console link ended")
        finally:
            self._running = None

    async def _keep_connected(self) -> None:
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            began = time.monotonic()
            try:
                await self._connect_once()
            except (OSError, WebSocketException, FieldError) as error:
                log.warning("console link lost", url=self._url, reason=_reason(error))
                if _is_replaced(error):
                    # By our successor in a rolling update. Two agents that take the word from
                    # each other would have longer and longer pauses, also when one has ended.
                    await asyncio.sleep(LONGEST_PAUSE_SECONDS)
            if time.monotonic() - began > SETTLED_SECONDS:
                pause_seconds = FIRST_PAUSE_SECONDS
            # Agents that lost the same console must not all return in the same moment.
            await asyncio.sleep(pause_seconds * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
            pause_seconds = min(LONGEST_PAUSE_SECONDS, pause_seconds * 2)

    async def _connect_once(self) -> None:
        token = await asyncio.to_thread(self._token_file.read_text)
        async with connect(
            self._url,
            additional_headers={"Authorization": f"Bearer {token.strip()}"},
            open_timeout=CONNECT_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PING_SECONDS,
            close_timeout=1,
            proxy=None,
        ) as connection:
            await connection.send(encode_hello(self._identity))
            async with asyncio.timeout(WELCOME_SECONDS):
                interval_seconds = decode_welcome(await connection.recv())
            log.info("console link up", url=self._url)
            await _first_of(
                self._talk(connection, interval_seconds=interval_seconds), _drain(connection)
            )

    async def _talk(self, connection: ClientConnection, *, interval_seconds: float) -> None:
        seq = 0
        last_sent: datetime | None = None
        told: Mapping[str, Details] | None = None
        claims_due = time.monotonic()
        while True:
            await self._outbox.wait(max(0.0, claims_due - time.monotonic()))
            samples, has_claims = self._outbox.take()
            if self._ledger is None:
                claims_due = time.monotonic() + CLAIMS_SECONDS
            elif has_claims or time.monotonic() >= claims_due:
                seq += 1
                claims = self._ledger.entries.values()
                frame = encode_claims(claims, driver=self._identity.driver, seq=seq)
                await connection.send(frame)
                claims_due = time.monotonic() + CLAIMS_SECONDS
            for sample in samples:
                since = None if last_sent is None else (sample.taken_at - last_sent).total_seconds()
                # A clock that was set back must not silence the node.
                if since is None or since < 0 or since >= interval_seconds * EARLY_FRACTION:
                    seq += 1
                    last_sent = sample.taken_at
                    is_news = sample.details is not told
                    await connection.send(self._sample(sample, seq=seq, tells_details=is_news))
                    told = sample.details

    def _sample(self, sample: Sample, *, seq: int, tells_details: bool) -> str:
        report = None if self._reports is None else self._reports.current()
        return encode_sample(sample, seq=seq, report=report, tells_details=tells_details)


async def _drain(connection: ClientConnection) -> None:
    """Read until the connection is closed, which raises; version 1 says nothing more to us."""
    while True:
        await connection.recv()


async def _first_of(*halves: Coroutine[None, None, None]) -> None:
    """Run both halves of a conversation until one ends, and end as that one did."""
    tasks = [asyncio.create_task(half) for half in halves]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def _is_replaced(error: Exception) -> bool:
    closed = error.rcvd if isinstance(error, ConnectionClosed) else None
    return closed is not None and closed.code == REPLACED


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionClosed) and error.rcvd is not None:
        return f"closed by the console: {error.rcvd.code} {error.rcvd.reason}"
    return f"{type(error).__name__}: {error}"
