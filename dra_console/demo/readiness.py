"""Whether the demo's processes answer yet: asked from outside, as a user would."""

import json
import socket
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import Request, urlopen

from dra_console.demo.accounts import Account
from dra_console.demo.layout import Ports

PROBE_SECONDS = 5
PING = b"*1\r\n$4\r\nPING\r\n"
"""As an array: fakeredis' server knows no inline commands."""


def redis_answers(ports: Ports) -> bool:
    """Tell whether a Redis PING is answered."""
    try:
        with socket.create_connection(("127.0.0.1", ports.redis), timeout=PROBE_SECONDS) as link:
            link.sendall(PING)
            return link.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def api_server_answers(ports: Ports) -> bool:
    """Tell whether the embedded API server is ready."""
    return _fetch(f"http://127.0.0.1:{ports.api_server}/readyz") is not None


def web_answers(ports: Ports) -> bool:
    """Tell whether the web process is healthy."""
    return _fetch(f"http://127.0.0.1:{ports.web}/healthz") is not None


def mirrored_nodes(ports: Ports, account: Account) -> int:
    """Count the nodes whose devices the mirror shows."""
    url = f"http://127.0.0.1:{ports.web}/api/v1/devices/?limit=500"
    body = _fetch(url, token=account.token)
    if body is None:
        return 0
    return len({device["node"] for device in json.loads(body)["items"]})


def _fetch(url: str, *, token: str = "") -> bytes | None:
    """Return the body of a 200 answer, else nothing."""
    request = Request(url)  # noqa: S310 - the demo's own loopback addresses
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=PROBE_SECONDS) as answer:  # noqa: S310 - as above
            return bytes(answer.read())
    except (URLError, HTTPException, OSError):
        return None
