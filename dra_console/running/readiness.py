"""Whether processes answer yet: asked from outside, as a user would."""

import socket
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import Request, urlopen

from dra_console.running.ports import Ports

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


def web_answers(ports: Ports) -> bool:
    """Tell whether the web process is healthy."""
    return fetch(f"http://127.0.0.1:{ports.web}/healthz") is not None


def fetch(url: str, *, token: str = "") -> bytes | None:
    """Return the body of a 200 answer, else nothing."""
    request = Request(url)  # noqa: S310 - loopback addresses of our own
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=PROBE_SECONDS) as answer:  # noqa: S310 - as above
            return bytes(answer.read())
    except (URLError, HTTPException, OSError):
        return None
