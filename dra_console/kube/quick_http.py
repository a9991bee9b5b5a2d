"""Whole requests and answers over urllib3's connections, for thousands of small ones.

Connecting, TLS and keeping alive stay urllib3's. What it would do anew for each request is left
out: to look the pool up by all its settings, to send head and body by themselves, which wakes
the other side twice, and to read a dozen header lines as if they were a mail. That is five
sixths of the processor time of a request.
"""

import re
import ssl
from collections.abc import Iterable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Final, TypeAlias
from urllib.parse import quote

import httptools
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ProtocolError, ReadTimeoutError, SSLError

READ_BYTES: Final = 65536
FIRST_FINAL: Final = 200
LENGTH_HEADERS: Final = frozenset({"content-length", "transfer-encoding"})
UNRESERVED: Final = "/?:@!$&'()*+,;=-._~%"
"""What a target may have in it as it is, beside letters and digits (RFC 3986)."""

Headers: TypeAlias = Iterable[tuple[str, str]]

_ODD_IN_TARGET: Final = re.compile(f"[^a-zA-Z0-9{re.escape(UNRESERVED)}]")
_ODD_IN_HEADER: Final = re.compile("[\r\n\0]")


class _Answer:
    """What a server answered, as far as it has been read; called back by the parser."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers = urllib3.HTTPHeaderDict()
        self._body: list[bytes] = []
        self.has_head = False
        self.is_whole = False
        self.keeps_alive = False
        """Whether the connection can be used again."""

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.add(name.decode("latin-1"), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= FIRST_FINAL:
            self.is_whole = True
            self.keeps_alive = bool(self._parser.should_keep_alive())
            return
        # Such as 100 Continue: the answer itself follows.
        self._headers, self._body, self.has_head = urllib3.HTTPHeaderDict(), [], False

    def feed(self, read: bytes) -> None:
        """Take what was read; nothing: the server has closed the connection.

        Raises:
            ProtocolError: it is no answer, or the answer is cut off.

        """
        if not read:
            ends_with_connection = self.has_head and LENGTH_HEADERS.isdisjoint(
                name.lower() for name in self._headers
            )
            if not ends_with_connection:
                raise ProtocolError("the server closed the connection before its answer ended")
            self.is_whole = True
            return
        try:
            self._parser.feed_data(read)
        except httptools.HttpParserError as error:
            raise ProtocolError(f"no answer in HTTP: {error}") from error

    def response(self, *, method: str) -> urllib3.HTTPResponse:
        """Give it as urllib3 does; nothing can be fed any more."""
        body = b"".join(self._body)
        status = self._parser.get_status_code()
        # It calls us back. Such a cycle would stay, with the pieces of the body, until the
        # collector looks for it, which in a worker is seldom: a page of a list each.
        del self._parser, self._body
        return urllib3.HTTPResponse(
            # Without any text, urllib3 takes there to be no body that could be read.
            body or BytesIO(),
            headers=self._headers,
            status=status,
            request_method=method,
        )


class QuickPool(HTTPConnectionPool):
    """Connections without TLS."""

    def exchange(  # noqa: PLR0913 - what a request is made of
        self,
        method: str,
        target: str,
        *,
        headers: Headers,
        body: bytes | None,
        connect_seconds: float,
        read_seconds: float,
    ) -> urllib3.HTTPResponse:
        """Send a request and read the whole answer.

        Raises:
            HTTPError, OSError: no answer came, or one that is none.

        """
        sent = _head_of(method, target, host=self._authority, headers=headers, body=body)
        connection = self._get_conn()
        if not isinstance(connection, HTTPConnection):
            raise TypeError(f"expected a connection of urllib3's own, got {connection!r}")
        is_good = False
        try:
            if connection.is_closed:
                connection.timeout = connect_seconds
                self._connect(connection)
            sock = connection.sock
            if sock is None:
                raise ProtocolError("there is no connection")
            sock.settimeout(read_seconds)
            sock.sendall(sent)
            answer = _Answer()
            while not answer.is_whole:
                answer.feed(sock.recv(READ_BYTES))
            is_good = answer.keeps_alive
            return answer.response(method=method)
        except TimeoutError as error:
            raise ReadTimeoutError(self, target, "no answer came in time") from error
        finally:
            if not is_good:
                connection.close()
            self._put_conn(connection)

    @property
    def _authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def _connect(self, connection: HTTPConnection) -> None:
        connection.connect()


class QuickTLSPool(QuickPool, HTTPSConnectionPool):
    """Connections with TLS."""

    def _connect(self, connection: HTTPConnection) -> None:
        try:
            connection.connect()
        except OSError as error:
            if isinstance(error, ssl.SSLError | ssl.CertificateError):
                raise SSLError(error) from error
            raise


def _head_of(method: str, target: str, *, host: str, headers: Headers, body: bytes | None) -> bytes:
    if _ODD_IN_TARGET.search(target):
        target = quote(target, safe=UNRESERVED)
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    for name, value in headers:
        if _ODD_IN_HEADER.search(value):
            raise ValueError(f"header {name}: expected one line")
        lines.append(f"{name}: {value}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")


POOLS: Final[Mapping[str, type[QuickPool]]] = MappingProxyType(
    {"http": QuickPool, "https": QuickTLSPool}
)
