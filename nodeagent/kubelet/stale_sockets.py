"""Socket files that runs before this one left behind, and which of them may go.

A process that is killed leaves its files. Under the very name that we bind, the file goes at
once. Under another pod's name it goes only if nobody listens there and it is old: a successor may
just be starting. All other names belong to somebody else (node-agent.md 1.7).
"""

import re
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.sockets import SocketPaths, dra_names, registration_names

log = structlog.get_logger()

OLD_SECONDS: Final = 120
DIAL_SECONDS: Final = 1
POD_UID: Final = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}"
"""A UUID, or the digest that static pods have. Shorter names may be part of another driver's."""


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


def remove_left_behind(paths: SocketPaths, *, driver: str, now: float | None = None) -> list[Path]:
    """Remove this driver's dead sockets of other pods; return which went.

    `now` is the Unix time in seconds.
    """
    at = time.time() if now is None else now
    removed = []
    for path in _of_other_pods(paths, driver):
        try:
            if at - path.lstat().st_mtime > OLD_SECONDS and _is_dead(path):
                path.unlink()
                removed.append(path)
        except OSError as error:
            log.warning("dead socket not removed", path=str(path), reason=str(error))
    if removed:
        log.info("dead sockets removed", paths=[str(path) for path in removed])
    return removed


def _of_other_pods(paths: SocketPaths, driver: str) -> Iterator[Path]:
    reg = re.compile(rf"{re.escape(driver)}-(?:{POD_UID})-reg\.sock")
    dra = re.compile(rf"dra-(?:{POD_UID})\.sock")
    for ours, pattern, plain in (
        (paths.registration, reg, registration_names(driver, None)),
        (paths.dra, dra, dra_names(None)),
    ):
        for path in ours.parent.iterdir() if ours.parent.is_dir() else ():
            is_named = pattern.fullmatch(path.name) or path.name in plain
            if is_named and path != ours and stat.S_ISSOCK(path.lstat().st_mode):
                yield path


def _is_dead(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as dialled:
        dialled.settimeout(DIAL_SECONDS)
        try:
            dialled.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
