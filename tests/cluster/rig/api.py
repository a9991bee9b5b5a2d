"""A few lines of HTTPS to look at a cluster with, so that the rig does not test with what it tests.

Everything here is raw JSON in the API's own shape.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

MERGE_PATCH: Final = "application/merge-patch+json"
TIMEOUT_SECONDS: Final = 30

Json = dict[str, Any]


class ApiError(Exception):
    """The server refused; `status` is the HTTP status, the message its own."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason


class Api:
    """Requests of one user at one API server; each uses a connection of its own."""

    def __init__(
        self,
        url: str,
        *,
        authority: Path,
        token: str | None = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.url = url
        self._token = token
        self._context = ssl.create_default_context(cafile=str(authority))
        if certificate is not None:
            self._context.load_cert_chain(*(str(file) for file in certificate))

    def get(self, path: str) -> Json:
        """Return one object or list.

        Raises:
            ApiError: refused.
            OSError: the server is not there.

        """
        return self.request("GET", path)

    def text(self, path: str) -> str:
        """Return what is no JSON, as it stands; errors as in `get`."""
        status, reason, text = self._exchange("GET", path, None, "")
        if status >= http.client.BAD_REQUEST:
            raise _refusal(status, reason, text)
        return text.decode()

    def create(self, path: str, body: Mapping[str, object]) -> Json:
        """Post to a collection; errors as in `get`."""
        return self.request("POST", path, body)

    def create_bytes(self, path: str, body: bytes) -> None:
        """Post JSON as it stands, which no writer here would write; errors as in `get`."""
        status, reason, text = self._exchange("POST", path, body, "application/json")
        if status >= http.client.BAD_REQUEST:
            raise _refusal(status, reason, text)

    def patch(self, path: str, body: Mapping[str, object]) -> Json:
        """Apply a merge patch; errors as in `get`."""
        return self.request("PATCH", path, body, content_type=MERGE_PATCH)

    def delete(self, path: str) -> Json:
        """Delete an object or a collection; errors as in `get`."""
        return self.request("DELETE", path)

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        content_type: str = "application/json",
    ) -> Json:
        """Send one request and decode the answer; errors as in `get`."""
        status, reason, text = self._exchange(method, path, body, content_type)
        if status >= http.client.BAD_REQUEST:
            raise _refusal(status, reason, text)
        decoded = json.loads(text)
        assert isinstance(decoded, dict)
        return decoded

    def answers(self, path: str) -> bool:
        """Whether a path is served with success now."""
        try:
            status, _, _ = self._exchange("GET", path, None, "")
        except (OSError, http.client.HTTPException):
            return False
        return status == http.client.OK

    def _exchange(
        self, method: str, path: str, body: Mapping[str, object] | bytes | None, content_type: str
    ) -> tuple[int, str, bytes]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=TIMEOUT_SECONDS, context=self._context
        )
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = content_type
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.reason, answer.read()
        finally:
            connection.close()


def _refusal(status: int, reason: str, text: bytes) -> ApiError:
    try:
        told = json.loads(text)
    except ValueError:
        return ApiError(status, reason, text.decode(errors="replace").strip())
    return ApiError(status, told.get("reason") or reason, told.get("message", ""))
