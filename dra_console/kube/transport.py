"""One exchange of JSON with an API server: time-outs, errors, further attempts.

Only what repeats harmlessly is tried again, after a jittered pause: reads, and reviews,
which are POSTs that store nothing. Whether a failed write has happened is for its caller
to find out.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlencode

import orjson
import urllib3
from urllib3.connection import HTTPConnection

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.connection import UNAUTHORIZED, Connection, Exchange
from dra_console.kube.errors import ApiError, KubeconfigError, error_of
from dra_console.kube.lenient import loads_leniently

Headers: TypeAlias = Sequence[tuple[str, str]]
"""Pairs, since `Impersonate-Group` occurs once for each group."""

READ_SECONDS: Final = 30.0
ATTEMPTS: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0

_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_FIRST_ERROR: Final = 400


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. `repeats_harmlessly` allows further attempts after a failure."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json = None
    content_type: str = "application/json"
    repeats_harmlessly: bool = False


class Transport:
    """Speaks JSON over HTTP with one API server; safe to share between threads."""

    def __init__(self, connection: Connection) -> None:
        """Speak over `connection`."""
        self.connection = connection

    def exchange(self, request: Request, *, impersonation: Headers) -> JsonObject:
        """Send one request and decode its answer, with further attempts where harmless.

        Raises:
            ApiError: or the subclass that says what the server refused.

        """
        return decode_object(self.fetch(request, impersonation=impersonation))

    def fetch(self, request: Request, *, impersonation: Headers) -> bytes:
        """Send one request and return its answer as it came.

        Raises:
            ApiError: as `exchange`.

        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._send(request, impersonation, preload=True).data
            except ApiError as error:
                if not request.repeats_harmlessly or attempt == ATTEMPTS or not _passes(error):
                    raise
                pause_seconds = _pause_seconds(attempt, error.retry_after_seconds)
            time.sleep(pause_seconds)
        raise AssertionError("the last attempt returns or raises")

    def stream(
        self, request: Request, *, impersonation: Headers, silence_seconds: float
    ) -> urllib3.BaseHTTPResponse:
        """Send one request and return the answer with its body unread.

        The answer itself must begin within `READ_SECONDS`; after that the server may be silent
        for `silence_seconds`.

        Raises:
            ApiError: the server refused, or no answer came.

        """
        response = self._send(request, impersonation, preload=False)
        connection = response.connection
        # A server that will close the connection has taken it away already; then the shorter
        # time stays.
        if isinstance(connection, HTTPConnection) and connection.sock is not None:
            connection.sock.settimeout(silence_seconds)
        return response

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self.connection.close()

    def _send(
        self, request: Request, impersonation: Headers, *, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        query = f"?{urlencode(request.query)}" if request.query else ""
        response = self.connection.send(
            Exchange(
                request.method,
                f"{request.path}{query}",
                headers=_headers(request, impersonation),
                body=None if request.body is None else orjson.dumps(request.body),
                read_seconds=READ_SECONDS,
                preload=preload,
            )
        )
        if response.status >= _FIRST_ERROR:
            raise self._refusal(response)
        return response

    def _refusal(self, response: urllib3.BaseHTTPResponse) -> ApiError:
        try:
            raw = response.data
        except (urllib3.exceptions.HTTPError, OSError):
            raw = b""
        try:
            body = _loads(raw)
        except ValueError:
            body = None
        if response.status == UNAUTHORIZED:
            said = f"the API server does not accept the credentials of {self.connection.source}"
            return ApiError(said, status=UNAUTHORIZED, reason="Unauthorized")
        after = response.headers.get("Retry-After", "")
        return error_of(
            response.status, body, retry_after_seconds=int(after) if after.isdecimal() else None
        )


def _headers(request: Request, impersonation: Headers) -> urllib3.HTTPHeaderDict:
    headers = urllib3.HTTPHeaderDict({"Accept": "application/json"})
    headers["User-Agent"] = "dra-console"
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    for name, value in impersonation:
        headers.add(name, value)
    return headers


def decode_object(raw: bytes) -> JsonObject:
    """Decode one JSON object.

    Raises:
        ApiError: it is not JSON, or not an object.

    """
    try:
        decoded = _loads(raw)
    except ValueError as error:
        raise ApiError(f"expected JSON from the API server, got {raw[:80]!r}") from error
    if not isinstance(decoded, dict):
        raise ApiError(f"expected a JSON object from the API server, got {raw[:80]!r}")
    return decoded


def _loads(raw: bytes) -> Json:
    try:
        decoded: Json = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return loads_leniently(raw)
    return decoded


def _passes(error: ApiError) -> bool:
    """Tell whether the next attempt may succeed, and soon enough to wait for it."""
    if isinstance(error, KubeconfigError):
        return False
    if (error.retry_after_seconds or 0) > LONGEST_PAUSE_SECONDS:
        return False
    return error.status == 0 or error.status in _PASSING


def _pause_seconds(attempt: int, retry_after_seconds: int | None) -> float:
    # Jitter keeps the windows of all kinds from returning at once to a server that restarts.
    backoff: float = FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
    return max(backoff, float(retry_after_seconds or 0))
