"""A keep-alive connection to an API server, on raw JSON; one for each thread.

Not `dra_console.kube`, which is among what these tests are about.
"""

import base64
import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import orjson
import yaml

from dra_console.allocator.model import Json, JsonObject

TIMEOUT_SECONDS: Final = 60
MERGE_PATCH: Final = "application/merge-patch+json"


class Connection:
    """Requests as the user of a kubeconfig file."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        server = config["clusters"][0]["cluster"]
        self._url = urlsplit(server["server"])
        token = config["users"][0]["user"].get("token")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._context = ssl.create_default_context()
        if authority := server.get("certificate-authority-data"):
            self._context.load_verify_locations(cadata=base64.b64decode(authority).decode())
        self._connection: http.client.HTTPConnection | None = None

    def send(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        content_type: str = "application/json",
        **query: str,
    ) -> tuple[int, JsonObject]:
        """Send one request; return the HTTP status and the decoded answer.

        Raises:
            OSError, http.client.HTTPException: the server is not there, or went away; whether
                the request was done is not known.

        """
        if self._connection is None:
            self._connection = self._connect()
        target = f"{path}?{urlencode(query)}" if query else path
        headers = self._headers | ({"Content-Type": content_type} if body is not None else {})
        try:
            self._connection.request(
                method, target, None if body is None else orjson.dumps(body), headers
            )
            answer = self._connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        try:
            decoded = orjson.loads(raw)
        except orjson.JSONDecodeError:
            decoded = {"message": raw.decode(errors="replace").strip()}
        return answer.status, decoded

    def stream(self, path: str, **query: str) -> tuple[int, list[JsonObject]]:
        """Read a watch to its end; return the HTTP status and its lines."""
        connection = self._connect()
        try:
            connection.request("GET", f"{path}?{urlencode(query)}", headers=self._headers)
            answer = connection.getresponse()
            raw = answer.read()
            if answer.status != http.client.OK:
                return answer.status, [orjson.loads(raw)]
            lines = [orjson.loads(line) for line in raw.splitlines() if line.strip()]
        finally:
            connection.close()
        return answer.status, lines

    def follow(self, path: str, **query: str) -> Iterator[JsonObject]:
        """Read a watch line by line, as they come, until the server ends it.

        Raises:
            AssertionError: the server refused.
            OSError, http.client.HTTPException: the server went away.

        """
        connection = self._connect()
        try:
            connection.request("GET", f"{path}?{urlencode(query)}", headers=self._headers)
            answer = connection.getresponse()
            assert answer.status == http.client.OK, answer.read()
            while line := answer.readline():
                yield orjson.loads(line)
        finally:
            connection.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        return http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_SECONDS, context=self._context
        )
