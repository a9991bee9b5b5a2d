"""The listening socket and the HTTP server on it."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn

from dra_console.devcluster.http import Api

LOOPBACK: Final = "127.0.0.1"
"""The one address that is served: a request without credentials is the administrator's."""

BACKLOG: Final = 2048
KEEP_ALIVE_SECONDS: Final = 75
CLOSING_SECONDS: Final = 2
"""How long connections may take to end after the watches were told to."""


def listen(port: int) -> socket.socket:
    """Open the listening socket; port 0 takes a free one.

    Raises:
        OSError: the port is taken, or not ours to take.

    """
    # asyncio turns Nagle's algorithm off only for sockets that name their protocol; with it
    # on, every answer after a connection's first waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class Server(uvicorn.Server):
    """uvicorn without its signal handlers, since this process stops more than the server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(api: Api, listener: socket.socket, *, stopping: asyncio.Event) -> None:
    """Answer requests until `stopping` is set."""
    config = uvicorn.Config(
        api,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    stopped.cancel()
    await serving
