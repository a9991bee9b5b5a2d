"""One HTTP exchange with an API server: credentials, time-outs, errors, further attempts.

Only what repeats harmlessly is tried again, after a jittered pause: reads, and reviews,
which are POSTs that store nothing. Whether a failed write has happened is for its caller
to find out.
"""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes.client.rest import RESTClientObject

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.credentials import LoadConfiguration
from dra_console.kube.errors import ApiError, error_of
from dra_console.kube.lenient import loads_leniently

Headers: TypeAlias = Sequence[tuple[str, str]]
"""Pairs, since `Impersonate-Group` occurs once for each group."""

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
ATTEMPTS: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
CONNECTIONS: Final = 64
"""Kept open at most: a watch for each kind, and the tasks and requests beside them."""

_PASSING: Final = frozenset({429, 500, 502, 503, 504})
_UNAUTHORIZED: Final = 401
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
    """Keep-alive connections to one API server; safe to share between threads."""

    def __init__(self, load_configuration: LoadConfiguration) -> None:
        """Load the credentials; opens no connection yet.

        Raises:
            KubeconfigError: the credentials cannot be loaded.

        """
        self._load_configuration = load_configuration
        self._lock = threading.Lock()
        self._load()

    def exchange(self, request: Request, *, impersonation: Headers) -> JsonObject:
        """Send one request and decode its answer, with further attempts where harmless.

        Raises:
            ApiError: or the subclass that says what the server refused.

        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._send(
                    request, impersonation, read_seconds=READ_SECONDS, preload=True
                )
                return _decoded(response)
            except ApiError as error:
                if not request.repeats_harmlessly or attempt == ATTEMPTS or not _passes(error):
                    raise
                pause_seconds = _pause_seconds(attempt, error.retry_after_seconds)
            time.sleep(pause_seconds)
        raise AssertionError("the last attempt returns or raises")

    def stream(
        self, request: Request, *, impersonation: Headers, read_seconds: float
    ) -> urllib3.BaseHTTPResponse:
        """Send one request and return the answer with its body unread.

        Raises:
            ApiError: the server refused, or no answer came.

        """
        return self._send(request, impersonation, read_seconds=read_seconds, preload=False)

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self._pool.clear()

    def _load(self) -> None:
        configuration = self._load_configuration()
        configuration.connection_pool_maxsize = CONNECTIONS
        configuration.keep_alive = True
        self._configuration = configuration
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager

    def _send(
        self, request: Request, impersonation: Headers, *, read_seconds: float, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        configuration = self._configuration
        response = self._send_once(
            request, impersonation, read_seconds=read_seconds, preload=preload
        )
        if response.status == _UNAUTHORIZED:
            # Nothing was done. A token that was rotated since is in its file by now.
            response.drain_conn()
            with self._lock:
                if self._configuration is configuration:
                    self._load()
            response = self._send_once(
                request, impersonation, read_seconds=read_seconds, preload=preload
            )
        if response.status >= _FIRST_ERROR:
            raise _refusal(response)
        return response

    def _send_once(
        self, request: Request, impersonation: Headers, *, read_seconds: float, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        query = f"?{urlencode(request.query)}" if request.query else ""
        try:
            return self._pool.request(
                request.method,
                f"{self._configuration.host}{request.path}{query}",
                body=None if request.body is None else orjson.dumps(request.body),
                headers=self._headers(request, impersonation),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
                retries=False,
                preload_content=preload,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(f"{self._configuration.host}: {error}") from error

    def _headers(self, request: Request, impersonation: Headers) -> urllib3.HTTPHeaderDict:
        headers = urllib3.HTTPHeaderDict({"Accept": "application/json"})
        headers["User-Agent"] = "dra-console"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        with self._lock:
            # Runs the exec plugin or reads the token file again where the token has run out.
            authorization = self._configuration.get_api_key_with_prefix(
                "BearerToken", alias="authorization"
            )
        if authorization:
            headers["Authorization"] = authorization.strip()
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


def _decoded(response: urllib3.BaseHTTPResponse) -> JsonObject:
    return decode_object(response.data)


def _refusal(response: urllib3.BaseHTTPResponse) -> ApiError:
    try:
        raw = response.data
    except (urllib3.exceptions.HTTPError, OSError):
        raw = b""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    after = response.headers.get("Retry-After", "")
    return error_of(
        response.status, body, retry_after_seconds=int(after) if after.isdecimal() else None
    )


def _passes(error: ApiError) -> bool:
    """Tell whether the next attempt may succeed, and soon enough to wait for it."""
    if (error.retry_after_seconds or 0) > LONGEST_PAUSE_SECONDS:
        return False
    return error.status == 0 or error.status in _PASSING


def _pause_seconds(attempt: int, retry_after_seconds: int | None) -> float:
    # Jitter keeps the windows of all kinds from returning at once to a server that restarts.
    backoff: float = FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
    return max(backoff, float(retry_after_seconds or 0))
