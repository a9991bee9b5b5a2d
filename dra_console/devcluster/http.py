"""The API server as an ASGI application.

A request is read to its end, then answered by synchronous code: nothing else runs between its
first look at the store and its write. Only a watch goes on afterwards, as a stream.
"""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

import structlog
from asgiref.typing import (
    ASGIReceiveCallable,
    ASGISendCallable,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
    Scope,
)

from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import StatusError
from dra_console.devcluster.http_dispatch import answer
from dra_console.devcluster.http_request import BODY_LIMIT_BYTES, Request
from dra_console.devcluster.http_response import Response, Stream, json_response

log = structlog.get_logger()

TOO_LARGE: Final = 413


class DisconnectedError(Exception):
    """The client went away before its request was complete."""


class RequestTooLargeError(StatusError):
    """The body is larger than etcd would take."""

    code = TOO_LARGE
    reason = "RequestEntityTooLarge"


class Api:
    """The application. It serves until `stopping` is set, which ends the watches."""

    def __init__(self, cluster: Cluster, *, stopping: asyncio.Event) -> None:
        self._cluster = cluster
        self._stopping = stopping

    async def __call__(
        self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise TypeError(f"the API server speaks HTTP only, got {scope['type']}")
        try:
            response = self._answered(await _read(scope, receive))
        except RequestTooLargeError as error:
            response = json_response(error.to_json(), status=error.code)
        except DisconnectedError:
            return
        if isinstance(response, Stream):
            await self._send_stream(response, receive, send)
        else:
            await _send_whole(response, send)

    def _answered(self, request: Request) -> Response | Stream:
        try:
            return answer(self._cluster, request)
        except StatusError as error:
            return json_response(error.to_json(), status=error.code)
        except Exception as error:
            log.exception("request failed", method=request.method, path=request.path)
            failure = StatusError(f"Internal error occurred: {error!r}")
            return json_response(failure.to_json(), status=failure.code)

    async def _send_stream(
        self, stream: Stream, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        """Send pieces as they come, until the stream, the client or the server ends.

        `send` waits while the client does not read, so a slow one costs a buffer and no more.
        """
        await send(_start(200, stream.content_type, ()))
        sending = asyncio.create_task(_send_chunks(stream, send))
        leaving = asyncio.create_task(_disconnected(receive))
        stopping = asyncio.create_task(self._stopping.wait())
        tasks = (sending, leaving, stopping)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            failure, *_ = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(failure, Exception):
            raise failure
        if leaving.cancelled():
            await send(_body(b"", more_body=False))


async def _read(scope: HTTPScope, receive: ASGIReceiveCallable) -> Request:
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] != "http.request":
            raise DisconnectedError
        body += event["body"]
        if len(body) > BODY_LIMIT_BYTES:
            raise RequestTooLargeError(f"Request entity too large: limit is {BODY_LIMIT_BYTES}")
        if not event["more_body"]:
            break
    query = scope["query_string"].decode("utf-8", "replace")
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers=tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        ),
        body=bytes(body),
    )


async def _send_whole(response: Response, send: ASGISendCallable) -> None:
    length = str(len(response.body)).encode()
    await send(_start(response.status, response.content_type, ((b"content-length", length),)))
    await send(_body(response.body, more_body=False))


async def _send_chunks(stream: Stream, send: ASGISendCallable) -> None:
    async for chunk in stream.chunks:
        await send(_body(chunk, more_body=True))


async def _disconnected(receive: ASGIReceiveCallable) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(
    status: int, content_type: str, headers: tuple[tuple[bytes, bytes], ...]
) -> HTTPResponseStartEvent:
    return {
        "type": "http.response.start",
        "status": status,
        "headers": ((b"content-type", content_type.encode()), *headers),
        "trailers": False,
    }


def _body(body: bytes, *, more_body: bool) -> HTTPResponseBodyEvent:
    return {"type": "http.response.body", "body": body, "more_body": more_body}
