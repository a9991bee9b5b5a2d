"""Which TCP ports on 127.0.0.1 a run uses."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.running.state import Say, State, write_private

REDIS_PORT: Final = 6390
WEB: Final = "web"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the console's own servers listen."""

    web: int
    redis: int


def free_ports(state: State, wanted: Mapping[str, int], *, say: Say) -> dict[str, int]:
    """Find a free port for each name; keep the last run's, and name each that is taken.

    `web` is always the one wanted now, since a person types it.
    """
    last = json.loads(state.ports.read_text()) if state.ports.exists() else {}
    chosen: dict[str, int] = {}
    for name, port in wanted.items():
        first = port if name == WEB else last.get(name, port)
        chosen[name] = _free_port(first, what=name.replace("_", " "), say=say)
    kept = {name: port for name, port in chosen.items() if name != WEB}
    write_private(state.ports, json.dumps(kept))
    return chosen


def _free_port(wanted: int, *, what: str, say: Say) -> int:
    for port in range(wanted, wanted + 200):
        if _is_free(port):
            if port != wanted:
                say(f"port {wanted} is taken: {what} uses {port}")
            return port
    raise SystemExit(f"no free port from {wanted} to {wanted + 199} for {what}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
