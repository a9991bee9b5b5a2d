"""Outlive the rig, and take everything of it away: a script of its own, standard library only.

Nothing of a cluster may stay behind, however the process that started it ended; `kill -9` runs
no clean-up of Python's, and the kernel's parent-death signal comes when the *thread* that
started a server ends. So the rig starts this script first and holds a pipe to it. When the
pipe closes, for whatever reason, every process that carries the rig's mark in its environment
is killed, then what is in the containers, whose environment is their own: containerd's folder
names them, and so their control groups. Then the groups and the files go. An orderly end takes
the same way, so that it is tried each time.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MARK = "DRA_CONSOLE_RIG"
"""The environment variable that names the folder of the rig that a process belongs to."""

SWEEP_SECONDS = 20
LOOK_SECONDS = 0.02
CONTROL_GROUPS = Path("/sys/fs/cgroup")
PARENT = "k8s.io"
"""The control group of all containers of containerd's namespace of that name."""

BUNDLES = f"node/containerd/state/io.containerd.runtime.v2.task/{PARENT}"
"""Below the rig's folder: a directory for each container, named by its ID."""


def main() -> int:
    """Wait until standard input closes, then sweep the folder that is the argument."""
    folder = Path(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    return sweep(folder)


def sweep(folder: Path) -> int:
    """Remove all of a rig; say on standard error what stayed, and return how many things."""
    left: list[str] = []
    if not _eventually(lambda: _kill(_marked(folder))):
        left += [f"process {number}" for number in _marked(folder)]
    # Nobody is left who could start or forget a container.
    bundles = folder / BUNDLES
    containers = [each.name for each in bundles.iterdir()] if bundles.exists() else []
    if not _eventually(lambda: _kill(_contained(containers))):
        left += [f"container process {number}" for number in _contained(containers)]
    if not _eventually(lambda: _control_groups_gone(containers)):
        left += [f"control group {path}" for path in _control_groups(containers)]
    if bundles.exists():
        _remove_parents()
    _eventually(lambda: _files_gone(folder))
    if folder.exists():
        left.append(f"folder {folder}")
    for one in left:
        sys.stderr.write(f"left behind: {one}\n")
    return len(left)


def _eventually(done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SWEEP_SECONDS
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _kill(numbers: Iterator[int]) -> bool:
    """Kill the processes; true if there was none."""
    none = True
    for number in numbers:
        none = False
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    return none


def _marked(folder: Path) -> Iterator[int]:
    mark = f"{MARK}={folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # Processes of others cannot be read, and any process may end meanwhile.
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


def _control_groups(containers: list[str]) -> list[Path]:
    """Return the containers' groups in each hierarchy (version 1) or in the one (version 2)."""
    roots = (*CONTROL_GROUPS.glob(f"*/{PARENT}"), CONTROL_GROUPS / PARENT)
    return [root / name for root in roots for name in containers if (root / name).exists()]


def _contained(containers: list[str]) -> Iterator[int]:
    for group in _control_groups(containers):
        for path in group.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                yield from (int(line) for line in path.read_text().split())


def _control_groups_gone(containers: list[str]) -> bool:
    """Remove the groups from the innermost outwards; one that is just being left comes later."""
    for group in _control_groups(containers):
        for path, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                Path(path).rmdir()
    return not _control_groups(containers)


def _remove_parents() -> None:
    """Remove the groups above; somebody else's containers in them make the kernel refuse."""
    for path in (*CONTROL_GROUPS.glob(f"*/{PARENT}"), CONTROL_GROUPS / PARENT):
        with contextlib.suppress(OSError):
            path.rmdir()


def _files_gone(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


if __name__ == "__main__":
    sys.exit(main())
