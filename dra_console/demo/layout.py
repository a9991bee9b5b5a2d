"""Where the demo keeps its state, and which ports it uses.

Everything lives in one directory, so that a second run resumes and `rm -rf` forgets.
Unix socket paths are limited to 107 bytes; where the directory's own path is too long
for the kubelets' sockets, the node directories move to a short one, linked from here.
"""

import hashlib
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOCKET_PATH_LIMIT_BYTES = 107
LONGEST_SOCKET = "gpu-01/plugins_registry/gpu.nvidia.com-reg.sock"

Say = Callable[[str], None]
"""Prints one line for the person who runs the demo."""


@dataclass(frozen=True, slots=True)
class Ports:
    """TCP ports on 127.0.0.1."""

    web: int
    api_server: int
    redis: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of the demo's files; all absolute."""

    home: Path
    nodes: Path

    @property
    def database(self) -> Path:
        return self.home / "db.sqlite3"

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def devcluster(self) -> Path:
        return self.home / "devcluster"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def secret_key(self) -> Path:
        return self.home / "secret-key"

    @property
    def accounts(self) -> Path:
        return self.home / "accounts.json"

    @property
    def ports(self) -> Path:
        return self.home / "ports.json"

    @property
    def summary(self) -> Path:
        return self.home / "demo.json"

    @property
    def lock(self) -> Path:
        return self.home / "demo.lock"


def prepare_layout(home: Path, *, say: Say) -> Layout:
    """Make the demo's directories, or find those of the last run."""
    home = home.resolve()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    nodes = home / "nodes"
    length = len(os.fsencode(nodes / LONGEST_SOCKET))
    if length > SOCKET_PATH_LIMIT_BYTES:
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:10]
        short = Path(tempfile.gettempdir()) / f"dra-demo-{os.getuid()}-{digest}"
        say(
            f"{nodes} is too long for unix sockets ({length} > {SOCKET_PATH_LIMIT_BYTES} bytes): "
            f"the nodes' files are in {short}"
        )
        short.mkdir(mode=0o700, exist_ok=True)
        if not nodes.is_symlink():
            nodes.symlink_to(short)
        nodes = short
    layout = Layout(home=home, nodes=nodes)
    for directory in (layout.nodes, layout.logs, layout.devcluster):
        directory.mkdir(exist_ok=True)
    if not layout.secret_key.exists():
        write_private(layout.secret_key, secrets.token_urlsafe(48))
    return layout


def choose_ports(layout: Layout, *, web: int, say: Say) -> Ports:
    """Keep the last run's ports where they are free; name each that is not."""
    last = json.loads(layout.ports.read_text()) if layout.ports.exists() else {}
    web = _free_port(web, what="web", say=say)
    api_server = _free_port(last.get("api_server", 6443), what="API server", say=say)
    redis = _free_port(last.get("redis", 6390), what="Redis", say=say)
    ports = Ports(web=web, api_server=api_server, redis=redis)
    write_private(layout.ports, json.dumps({"api_server": api_server, "redis": redis}))
    return ports


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


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner alone."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
