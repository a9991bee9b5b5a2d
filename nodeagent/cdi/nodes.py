"""Device nodes of the host, with the numbers that the kernel gave them this time.

The numbers are written into the CDI file, so that the runtime makes the node without looking for
it; they are read anew each time, since a module that is loaded again has others.
"""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.errors import MissingNodeError
from nodeagent.cdi.spec import ContainerEdits, DeviceNode

ANYBODY_READS_AND_WRITES: Final = 0o006
DRM_NODE: Final = re.compile(r"card\d+|renderD\d+")
HINT: Final = "is the driver loaded? (nvidia-modprobe -u -c0 makes the nodes)"


@dataclass(frozen=True, slots=True)
class HostNodes:
    """The device nodes that this process sees, and what the host calls them."""

    root: DriverRoot
    dev: Path
    """Where the host's own `/dev` is seen, for drivers that bring none."""

    sysfs: Path

    def required(self, name: str, *, needed_by: str) -> DeviceNode:
        """Return a node by its path below `/dev`.

        Raises:
            MissingNodeError: there is no such character device.

        """
        node = self.optional(name)
        if node is None:
            seen = self._directory[0] / name
            raise MissingNodeError(
                f"{needed_by} needs {seen}, which is no character device there: {HINT}"
            )
        return node

    def optional(self, name: str) -> DeviceNode | None:
        """Return a node, or `None` where there is no such character device."""
        seen, host = self._directory
        try:
            found = (seen / name).stat()
        except OSError:
            return None
        if not stat.S_ISCHR(found.st_mode):
            return None
        return DeviceNode(
            f"/dev/{name}",
            f"{host}/{name}",
            type="c",
            major=os.major(found.st_rdev),
            minor=os.minor(found.st_rdev),
            file_mode=stat.S_IMODE(found.st_mode),
            gid=found.st_gid or None,
        )

    def of_graphics(self, pci_bus_id: str) -> tuple[DeviceNode, ...]:
        """Return the DRM nodes of a PCI device that exist; a GPU for computing may have none."""
        try:
            place = self.sysfs / "bus/pci/devices" / pci_bus_id / "drm"
            names = sorted(entry.name for entry in place.iterdir())
        except OSError:
            return ()
        found = (self.optional(f"dri/{name}") for name in names if DRM_NODE.fullmatch(name))
        return tuple(node for node in found if node is not None)

    @property
    def _directory(self) -> tuple[Path, str]:
        own = self.root.seen("/dev")
        return (own, self.root.host_path("/dev")) if own.is_dir() else (self.dev, "/dev")


def edits_of(nodes: Iterable[DeviceNode]) -> ContainerEdits:
    """Give nodes to a container, with the groups that its process needs to open them."""
    every = tuple(nodes)
    groups = (node.gid for node in every if node.gid and not _is_open_to_all(node.file_mode))
    return ContainerEdits(device_nodes=every, additional_gids=tuple(dict.fromkeys(groups)))


def _is_open_to_all(file_mode: int | None) -> bool:
    wanted = ANYBODY_READS_AND_WRITES
    return file_mode is not None and file_mode & wanted == wanted
