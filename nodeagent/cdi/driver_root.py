"""Where the NVIDIA driver's files are: on the host, and as this process sees them.

A driver is installed on the host itself (root `/`) or by a driver container (root
`/run/nvidia/driver`, mounted late). The agent sees either one at some mount point of its own
container, but a CDI file is read by the runtime, on the host: each path has three spellings, one
for us, one for the host, one for the container that gets the file. Links inside the root are
followed as in a chroot, because an absolute one means the root, not our own file system
(node-agent.md 3.5).
"""

from collections import deque
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

LINKS_FOLLOWED: Final = 40
"""As many as the kernel follows before it says that they run in a circle."""


@dataclass(frozen=True, slots=True)
class DriverRoot:
    """One root directory of a driver. A "driver path" is absolute and begins at this root."""

    on_host: PurePosixPath
    """As the host spells it, and hence CDI files."""

    mounted: Path
    """As this process sees it."""

    def seen(self, driver_path: str) -> Path:
        """Return where this process finds a driver path; links are left as they are."""
        return self.mounted / driver_path.lstrip("/")

    def host_path(self, driver_path: str) -> str:
        """Return how the host spells a driver path."""
        return str(self.on_host / driver_path.lstrip("/"))

    def real(self, driver_path: str) -> str | None:
        """Follow every link of a driver path inside the root; `None` if nothing is there."""
        left = deque(PurePosixPath(driver_path.lstrip("/")).parts)
        reached: list[str] = []
        followed = 0
        while left:
            part = left.popleft()
            if part == "..":
                reached = reached[:-1]
                continue
            place = self.mounted.joinpath(*reached, part)
            try:
                target = str(place.readlink())
            except OSError:
                # No link: either a file, or nothing.
                if not place.exists():
                    return None
                reached.append(part)
                continue
            followed += 1
            if followed > LINKS_FOLLOWED:
                return None
            if target.startswith("/"):
                reached = []
            left.extendleft(reversed(PurePosixPath(target.lstrip("/")).parts))
        return "/" + "/".join(reached)
