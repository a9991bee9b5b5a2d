"""Whether a container may still open a device node: systemd may have taken that from it.

With systemd's cgroup driver a `systemctl daemon-reload` writes the device rules of running
containers anew, and forgets nodes that systemd does not know. The node stays in the container;
opening it is refused (node-agent.md 8, fault 37). Nothing but trying tells: a short-lived shell
joins the container's group and opens the host's own node, never a path that the container made.
"""

import subprocess
from pathlib import Path
from typing import Final

CGROUPS: Final = Path("/sys/fs/cgroup")
TRY: Final = 'echo $$ > "$1/cgroup.procs" || exit 3; : < "$2"'
TRY_SECONDS: Final = 5
REFUSED: Final = "Operation not permitted"


def group_of(cgroup: str, *, mounted: Path = CGROUPS) -> Path | None:
    """Return the directory of the group that decides on devices; `None` if it is not to be seen.

    `cgroup` is the content of `/proc/<pid>/cgroup`.
    """
    found: Path | None = None
    for line in cgroup.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if path.startswith("/.."):
            continue
        if "devices" in controllers.split(","):
            return _there(mounted / "devices" / path.lstrip("/"))
        if not controllers:
            found = _there(mounted / path.lstrip("/"))
    return found


def may_open(group: Path, node: str) -> bool | None:
    """Tell whether processes of a group may open a node of the host; `None`: nobody knows."""
    try:
        tried = subprocess.run(
            ["/bin/sh", "-c", TRY, "sh", str(group), node],
            capture_output=True,
            text=True,
            timeout=TRY_SECONDS,
            env={"LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if tried.returncode == 0:
        return True
    if node in tried.stderr and REFUSED in tried.stderr:
        return False
    return None


def _there(directory: Path) -> Path | None:
    return directory if (directory / "cgroup.procs").exists() else None
