"""Outlive the rig, and take everything of it away: a script of its own, standard library only.

Nothing of a cluster may stay behind, however the process that started it ended; `kill -9` runs
no clean-up of Python's, and the kernel's parent-death signal comes when the *thread* that
started a server ends. So the rig starts this script first and holds a pipe to it. When the
pipe closes, for whatever reason, every process that carries the rig's mark in its environment
is killed, then the containers, whose environment is their own, then control groups and files
go. An orderly end takes the same way, so that it is tried each time.
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
TASKS = "node/containerd/state/io.containerd.runtime.v2.task"
"""Below the rig's folder: containerd keeps a bundle for each running container there."""


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
    bundles = sorted(folder.glob(f"{TASKS}/*/*"))
    if not _eventually(lambda: _kill(_marked(folder))):
        left += [f"process {number}" for number in _marked(folder)]
    if not _eventually(lambda: _kill(_containers(bundles))):
        left += [f"container process {number}" for number in _containers(bundles)]
    for bundle in bundles:
        if not _eventually(lambda name=bundle.name: _control_groups_gone(name)):  # type: ignore[misc]
            left.append(f"control group {bundle.name}")
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


def _containers(bundles: list[Path]) -> Iterator[int]:
    """Find the first process of each container; the kernel ends the others with it."""
    for bundle in bundles:
        with contextlib.suppress(OSError, ValueError):
            number = int((bundle / "init.pid").read_text())
            # The number may be another process by now: its control group tells.
            if bundle.name in Path(f"/proc/{number}/cgroup").read_text():
                yield number


def _control_groups_gone(container: str) -> bool:
    """Remove the container's control groups, and their parent once it is empty."""
    found = [*CONTROL_GROUPS.glob(f"*/k8s.io/{container}"), CONTROL_GROUPS / "k8s.io" / container]
    for path in found:
        with contextlib.suppress(OSError):
            path.rmdir()
            path.parent.rmdir()
    return not any(path.exists() for path in found)


def _files_gone(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


if __name__ == "__main__":
    sys.exit(main())
