"""Where the demo keeps its state, and which ports it uses.

Unix socket paths are limited to 107 bytes; where the directory's own path is too long
for the kubelets' sockets, the node directories move to a short one, linked from here.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dra_console.running import ports
from dra_console.running.state import Say, State

SOCKET_PATH_LIMIT_BYTES = 107
LONGEST_SOCKET = "gpu-01/plugins_registry/gpu.nvidia.com-reg.sock"
API_SERVER_PORT = 6443


@dataclass(frozen=True, slots=True)
class Ports(ports.Ports):
    """The console's ports and the embedded API server's."""

    api_server: int


@dataclass(frozen=True, slots=True)
class Layout(State):
    """Paths of the demo's files; all absolute."""

    label: ClassVar[str] = "demo"
    nodes: Path

    @property
    def kubeconfig(self) -> Path:
        return self.home / "kubeconfig"

    @property
    def devcluster(self) -> Path:
        return self.home / "devcluster"


def prepare_layout(home: Path, *, say: Say) -> Layout:
    """Make the demo's directories, or find those of the last run."""
    home = home.resolve()
    nodes = home / "nodes"
    length = len(os.fsencode(nodes / LONGEST_SOCKET))
    short = None
    if length > SOCKET_PATH_LIMIT_BYTES:
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:10]
        short = Path(tempfile.gettempdir()) / f"dra-demo-{os.getuid()}-{digest}"
        say(
            f"{nodes} is too long for unix sockets ({length} > {SOCKET_PATH_LIMIT_BYTES} bytes): "
            f"the nodes' files are in {short}"
        )
        short.mkdir(mode=0o700, exist_ok=True)
    layout = Layout(home=home, nodes=short or nodes)
    layout.prepare()
    if short is not None and not nodes.is_symlink():
        nodes.symlink_to(short)
    for directory in (layout.nodes, layout.devcluster):
        directory.mkdir(exist_ok=True)
    return layout


def choose_ports(layout: Layout, *, web: int, say: Say) -> Ports:
    """Keep the last run's ports where they are free; name each that is not."""
    wanted = {"web": web, "api_server": API_SERVER_PORT, "redis": ports.REDIS_PORT}
    return Ports(**ports.free_ports(layout, wanted, say=say))
