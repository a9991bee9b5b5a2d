"""Where the agent's two unix sockets are, and the files under those names."""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from nodeagent.kubelet.errors import KubeletError

PATH_BYTES: Final = 107
"""What the kernel takes for a unix socket's path: 108 bytes with the closing NUL."""

MODE: Final = 0o600
"""Kubelet runs as root; the file's mode is the only protection."""


@dataclass(frozen=True, slots=True)
class SocketPaths:
    """The registration socket makes kubelet call; the DRA socket is what it then uses."""

    registration: Path
    dra: Path

    @classmethod
    def under(cls, *, registry_directory: Path, plugin_directory: Path, driver: str) -> Self:
        """Name both sockets and check that the kernel can bind them.

        Raises:
            KubeletError: a path is too long.

        """
        paths = cls(
            registration=registry_directory.absolute() / f"{driver}-reg.sock",
            dra=plugin_directory.absolute() / "dra.sock",
        )
        for path in (paths.registration, paths.dra):
            length_bytes = len(bytes(path))
            if length_bytes > PATH_BYTES:
                raise KubeletError(
                    f"socket path {path} has {length_bytes} bytes, a unix socket takes"
                    f" {PATH_BYTES}: use a shorter --kubelet-root or --driver"
                )
        return paths


def remove_stale(path: Path) -> None:
    """Remove the socket that an earlier run left under our name.

    Raises:
        KubeletError: something else than a socket has the name; it is not ours to remove.

    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise KubeletError(f"{path} is in the way and no socket")
    path.unlink()
