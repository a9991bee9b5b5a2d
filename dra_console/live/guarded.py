"""What the agents' and the browsers' sockets have in common: how they end.

Whatever ends a connection, the work that runs beside it ends, too; and where we end it, the
peer gets a code and words for it. Only here are errors turned into close codes.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import TYPE_CHECKING

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from redis import RedisError

from dra_console.access.errors import RightsUnknownError
from dra_console.kube.errors import ApiError
from dra_console.live.closing import CloseCode, ClosingError
from dra_console.telemetry.messages import FrameError

if TYPE_CHECKING:
    from asgiref.typing import ASGIReceiveCallable, ASGISendCallable
    from channels.consumer import _ChannelScope

log = structlog.get_logger()


class GuardedConsumer(AsyncWebsocketConsumer):
    """A connection whose work may end it."""

    def __init__(self) -> None:
        """Start open, with no work beside the reading."""
        super().__init__()
        self._beside: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def __call__(
        self, scope: "_ChannelScope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
    ) -> None:
        """Serve the connection to its end, however it ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            for task in self._beside:
                task.cancel()
            with contextlib.suppress(RedisError):  # without Redis there is nothing to undo
                await self.leave()

    async def leave(self) -> None:
        """Undo what the connection did outside itself."""

    def run_beside(self, work: Coroutine[None, None, None]) -> None:
        """Do the work beside the reading until it or the connection ends."""
        self._beside.append(asyncio.create_task(self.guard(work)))

    async def guard(self, work: Coroutine[None, None, None]) -> None:
        """Do the work; where an error ends the connection, close with what says why."""
        try:
            await work
        except ClosingError as error:
            await self.end(error)
        except FrameError as error:
            await self.end(ClosingError(CloseCode.BAD_FRAME, str(error)))
        except (ApiError, RightsUnknownError) as error:
            log.warning("socket closed: API server cannot be asked", error=str(error))
            await self.end(ClosingError(CloseCode.TRY_AGAIN_LATER, "rights cannot be checked now"))
        except RedisError as error:
            log.warning("socket closed: Redis cannot be asked", error=str(error))
            await self.end(ClosingError(CloseCode.TRY_AGAIN_LATER, "no live state now"))

    async def end(self, error: ClosingError) -> None:
        """Close with the code and words of the error."""
        self._is_closed = True
        for task in self._beside:
            if task is not asyncio.current_task():
                task.cancel()
        with contextlib.suppress(OSError):  # the peer is gone already
            await self.close(code=error.code, reason=error.reason)
