"""Where the agent's two unix sockets are.

Without a pod UID both have plain names, and one agent has the node. With one, two agents of a
rolling update live side by side, each under names of its own (node-agent.md 1.8). Kubelet takes
any name in its registry, and the DRA socket's name from us, so a name that does not fit gives way
to a shorter one. Whoever dials our sockets takes the paths from here, never from a pattern.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from nodeagent.kubelet.errors import KubeletError

PATH_BYTES: Final = 107
"""What the kernel takes for a unix socket's path: 108 bytes with the closing NUL."""

MODE: Final = 0o600
"""Kubelet runs as root; the file's mode is the only protection."""

SHORT_BYTES: Final = 8
UNIQUE_BYTES: Final = 16
"""Of a digest over driver and pod, where not even the driver's name fits."""


@dataclass(frozen=True, slots=True)
class SocketPaths:
    """The registration socket makes kubelet call; the DRA socket is what it then uses."""

    registration: Path
    dra: Path

    @classmethod
    def under(
        cls,
        *,
        registry_directory: Path,
        plugin_directory: Path,
        driver: str,
        pod_uid: str | None = None,
    ) -> Self:
        """Name both sockets so that the kernel can bind them.

        Raises:
            KubeletError: no name fits.

        """
        return cls(
            registration=_first_fitting(
                registry_directory.absolute(), registration_names(driver, pod_uid)
            ),
            dra=_first_fitting(plugin_directory.absolute(), dra_names(pod_uid)),
        )


def registration_names(driver: str, pod_uid: str | None) -> tuple[str, ...]:
    """Return what the registration socket may be called, the best name first."""
    if pod_uid is None:
        return (f"{driver}-reg.sock",)
    both = f"{driver}\0{pod_uid}"
    return (
        f"{driver}-{pod_uid}-reg.sock",
        f"{driver}-{_digest(pod_uid, SHORT_BYTES)}-reg.sock",
        f"dra-{_digest(both, UNIQUE_BYTES)}-reg.sock",
    )


def dra_names(pod_uid: str | None) -> tuple[str, ...]:
    """Return what the DRA socket may be called, the best name first."""
    if pod_uid is None:
        return ("dra.sock",)
    return (f"dra-{pod_uid}.sock", f"dra-{_digest(pod_uid, SHORT_BYTES)}.sock")


def _first_fitting(directory: Path, names: Sequence[str]) -> Path:
    paths = [directory / name for name in names]
    for path in paths:
        if len(bytes(path)) <= PATH_BYTES:
            return path
    raise KubeletError(
        f"socket path {paths[-1]} has {len(bytes(paths[-1]))} bytes, a unix socket takes"
        f" {PATH_BYTES}: use a shorter --kubelet-root or --driver"
    )


def _digest(text: str, length_bytes: int) -> str:
    digest = hashlib.sha256(text.encode()).digest()[:length_bytes]
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
