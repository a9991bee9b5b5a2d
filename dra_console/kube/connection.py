"""Connections to one API server, and being known to it while credentials change.

Credentials are loaded before the first request, when they say themselves that their time is
up (tokens in files, programs that give credentials), and when the server refuses them. A
client certificate is read from its file for each new connection; connections that were made
with a refused one are given up.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

import structlog
import urllib3
from kubernetes.client.rest import RESTClientObject
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from dra_console.kube.credentials import Credentials, Load
from dra_console.kube.errors import ApiError, KubeconfigError
from dra_console.kube.quick_http import POOLS, QuickPool

CONNECT_SECONDS: Final = 5.0
CONNECTIONS: Final = 64
"""Kept open at most: a watch for each kind, and the tasks and requests beside them."""

RETRY_SECONDS: Final = 10.0
"""When credentials could not be renewed; those at hand are used until they are refused."""

TOKEN_SECONDS: Final = 1.0
"""For so long a token is used before the package is asked whether it is time for another."""

UNAUTHORIZED: Final = 401

_SETTINGS: Final = (
    "host",
    "ssl_ca_cert",
    "cert_file",
    "key_file",
    "verify_ssl",
    "tls_server_name",
    "proxy",
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request, ready to be sent as anybody."""

    method: str
    path: str
    headers: urllib3.HTTPHeaderDict
    body: bytes | None
    read_seconds: float
    preload: bool


@dataclass(frozen=True, slots=True)
class _Login:
    credentials: Credentials
    pool: urllib3.PoolManager
    renew_at: float | None
    host: str = field(init=False)
    """A URL; the configuration would look through the whole environment each time."""

    prefix: str = field(init=False)
    """Of all paths, where several API servers are behind one address."""

    def __post_init__(self) -> None:
        """Keep the address."""
        host = self.credentials.configuration.host
        object.__setattr__(self, "host", host)
        object.__setattr__(self, "prefix", urlsplit(host).path)


@dataclass(frozen=True, slots=True)
class _Token:
    """What a login's requests say, and until when it need not be asked for again."""

    login: _Login
    authorization: str
    until: float


class Connection:
    """Sends requests over kept-alive connections; safe to share between threads."""

    def __init__(self, load: Load, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Load the credentials; opens no connection yet.

        Raises:
            KubeconfigError: the credentials cannot be loaded.

        """
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._token_lock = threading.Lock()
        self._token: _Token | None = None
        self._quick: QuickPool | None = None
        self._quick_of: _Login | None = None
        self._login = self._log_in(None)

    def send(self, exchange: Exchange) -> urllib3.BaseHTTPResponse:
        """Send one request and return the answer, whatever its status.

        Raises:
            KubeconfigError: the server refused the credentials, and no others can be loaded.
            ApiError: no answer came.

        """
        login = self._current()
        response = self._send_as(login, exchange)
        if response.status != UNAUTHORIZED:
            return response
        # Nothing was done. A token that was rotated since is in its file by now.
        response.drain_conn()
        with self._lock:
            if self._login is login:
                self._login = self._log_in(None)
                login.pool.clear()
        return self._send_as(self._login, exchange)

    @property
    def source(self) -> str:
        """Where the credentials come from, for messages."""
        return self._login.credentials.source

    @property
    def is_verified(self) -> bool:
        """Whether it is certain that the API server is the one that the kubeconfig means."""
        configuration = self._login.credentials.configuration
        return configuration.verify_ssl and configuration.host.startswith("https:")

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self._login.pool.clear()

    def _current(self) -> _Login:
        login = self._login
        if login.renew_at is None or self._clock() < login.renew_at:
            return login
        if not self._lock.acquire(blocking=False):
            # Another thread renews them, and these are good for a moment yet.
            return login
        try:
            if self._login is login:
                self._login = self._renewed(login)
            return self._login
        finally:
            self._lock.release()

    def _renewed(self, login: _Login) -> _Login:
        try:
            return self._log_in(login)
        except KubeconfigError as error:
            log.warning("credentials not renewed", reason=str(error))
            return replace(login, renew_at=self._clock() + RETRY_SECONDS)

    def _log_in(self, before: _Login | None) -> _Login:
        """Load the credentials, and keep the connections of `before` if they still serve."""
        credentials = self._load()
        configuration = credentials.configuration
        seconds = credentials.good_for_seconds
        renew_at = None if seconds is None else self._clock() + seconds
        if before is not None and all(
            getattr(configuration, name) == getattr(before.credentials.configuration, name)
            for name in _SETTINGS
        ):
            return _Login(credentials, before.pool, renew_at)
        if not configuration.verify_ssl:
            # Asked for in the kubeconfig; urllib3 would say it for each request.
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        configuration.connection_pool_maxsize = CONNECTIONS
        # A peer that has vanished is noticed within half a minute, also by a quiet watch.
        configuration.socket_options = tcp_keepalive_socket_options(idle=15, interval=5, count=3)
        manager = RESTClientObject(configuration).pool_manager
        if type(manager) is urllib3.PoolManager:
            manager.pool_classes_by_scheme = {**POOLS}
        return _Login(credentials, manager, renew_at)

    def _send_as(self, login: _Login, exchange: Exchange) -> urllib3.BaseHTTPResponse:
        headers = [*exchange.headers.items()]
        if authorization := self._authorization(login):
            headers.append(("Authorization", authorization))
        try:
            if exchange.preload and (pool := self._quick_pool(login)) is not None:
                return pool.exchange(
                    exchange.method,
                    f"{login.prefix}{exchange.path}",
                    headers=headers,
                    body=exchange.body,
                    connect_seconds=CONNECT_SECONDS,
                    read_seconds=exchange.read_seconds,
                )
            return login.pool.request(
                exchange.method,
                f"{login.host}{exchange.path}",
                body=exchange.body,
                headers=urllib3.HTTPHeaderDict(headers),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=exchange.read_seconds),
                retries=False,
                preload_content=exchange.preload,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            why = _in_words(error, source=login.credentials.source)
            raise ApiError(f"{login.host}: {why}") from error

    def _quick_pool(self, login: _Login) -> QuickPool | None:
        """Return the login's connections; none behind a proxy, to which all is said otherwise."""
        pool = self._quick
        if pool is None or self._quick_of is not login or pool.pool is None:
            made = login.pool.connection_from_url(login.host)
            pool = made if isinstance(made, QuickPool) else None
            self._quick, self._quick_of = pool, login
        return pool

    def _authorization(self, login: _Login) -> str:
        token = self._token
        if token is not None and token.login is login and self._clock() < token.until:
            return token.authorization
        with self._token_lock:
            # The package renews tokens of its own auth providers in here.
            said = login.credentials.configuration.get_api_key_with_prefix(
                "BearerToken", alias="authorization"
            )
        authorization = (said or "").strip()
        self._token = _Token(login, authorization, self._clock() + TOKEN_SECONDS)
        return authorization


def _in_words(error: Exception, *, source: str) -> str:
    match error:
        case urllib3.exceptions.SSLError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return f"its certificate does not fit the authority that {source} names: {error}"
        case urllib3.exceptions.NameResolutionError():
            return "the name of the host is not known"
        case urllib3.exceptions.NewConnectionError() if "refused" in str(error):
            return "nobody listens there (connection refused)"
        case urllib3.exceptions.ConnectTimeoutError():
            return f"no connection within {CONNECT_SECONDS:.0f} s"
        case urllib3.exceptions.ReadTimeoutError():
            return "connected, but no answer came in time"
        case _:
            return str(error)
