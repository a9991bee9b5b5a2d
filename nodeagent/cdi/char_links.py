"""Whether systemd can name the device nodes that containers were given.

With systemd's cgroup driver, `systemctl daemon-reload` writes the device rules of every running
container again, from paths: `/dev/char/<major>:<minor>`. NVIDIA's driver makes no such links, and
a node without one is taken from the containers that run ("Failed to initialize NVML: Unknown
Error", node-agent.md 8, fault 37). The links belong to the host; they are made only on demand.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.edits import EditsSource
from nodeagent.cdi.errors import CdiError
from nodeagent.cdi.spec import ContainerEdits, DeviceNode
from nodeagent.devices.model import Device

log = structlog.get_logger()

DIRECTORY: Final = "char"


@dataclass(frozen=True, slots=True)
class CharLinks:
    """The links below one `/dev`."""

    dev: Path

    def missing(self, nodes: Iterable[DeviceNode]) -> tuple[DeviceNode, ...]:
        """Return the nodes that a reload of systemd would take from containers.

        A node without numbers of its own is looked up by the runtime, and left out here.
        """
        return tuple(node for node in nodes if node.major is not None and not self._leads_to(node))

    def create(self, nodes: Iterable[DeviceNode]) -> tuple[DeviceNode, ...]:
        """Make the missing links; return the nodes that still have none.

        A capability of MIG has no node on some hosts, and a link to nothing would not help.
        """
        left = []
        for node in self.missing(nodes):
            target = self.dev / node.path.removeprefix("/dev/")
            link = self._of(node)
            try:
                link.parent.mkdir(exist_ok=True)
                if not os.path.lexists(link) and _numbers(target) == (node.major, node.minor):
                    link.symlink_to(f"../{node.path.removeprefix('/dev/')}")
            except OSError as error:
                log.warning("link of a device node not made", link=str(link), reason=str(error))
            if not self._leads_to(node):
                left.append(node)
        return tuple(left)

    def _leads_to(self, node: DeviceNode) -> bool:
        return _numbers(self._of(node)) == (node.major, node.minor)

    def _of(self, node: DeviceNode) -> Path:
        return self.dev / DIRECTORY / f"{node.major}:{node.minor}"


def nodes_of(source: EditsSource, devices: Iterable[Device]) -> tuple[DeviceNode, ...]:
    """Return every node that containers with these devices may get, as far as it is there now."""
    asks: list[Callable[[], ContainerEdits]] = [source.common]
    asks += [partial(source.of, device) for device in devices]
    found: list[DeviceNode] = []
    for ask in asks:
        with contextlib.suppress(CdiError):
            found += ask().device_nodes
    return tuple(dict.fromkeys(found))


def _numbers(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISCHR(found.st_mode):
        return None
    return os.major(found.st_rdev), os.minor(found.st_rdev)
