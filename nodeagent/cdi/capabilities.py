"""The nodes by which the driver guards MIG instances (`/proc/driver/nvidia/capabilities`).

A process reaches a MIG device only with the nodes of its GPU instance and its compute instance.
Generic tools leave them out without a word where something is missing, so they are made here,
from the driver's own numbers: the minor stands in the instance's `access` file, the major is that
of `nvidia-caps` in `/proc/devices`. The runtime makes the node from them, so the host needs none
(node-agent.md 3.5).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodeagent.cdi.errors import MissingNodeError
from nodeagent.cdi.spec import DeviceNode

CHARACTER_DEVICES: Final = "Character devices:"
DRIVER_ENTRY: Final = "nvidia-caps"
DIRECTORY: Final = "driver/nvidia/capabilities"
ADMINISTRATION: Final = ("mig/config", "mig/monitor")
"""What lets a process configure partitions, and look at all of them."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The driver's capabilities on this node."""

    proc: Path

    def of_instance(
        self, *, parent_minor: int, gpu_instance_id: int, compute_instance_id: int
    ) -> tuple[DeviceNode, DeviceNode]:
        """Return the two nodes of a MIG device.

        Raises:
            MissingNodeError: the driver has no such instance.

        """
        instance = f"gpu{parent_minor}/mig/gi{gpu_instance_id}"
        return (self._node(instance), self._node(f"{instance}/ci{compute_instance_id}"))

    def of_administration(self) -> tuple[DeviceNode, ...]:
        """Return the nodes for administrators, as far as the driver has them."""
        access = self.proc / DIRECTORY
        return tuple(self._node(name) for name in ADMINISTRATION if (access / name).exists())

    def _node(self, capability: str) -> DeviceNode:
        # Some capabilities are a file, others a directory with the file `access` in it.
        place = self.proc / DIRECTORY / capability
        file = place / "access" if place.is_dir() else place
        members = _members(file)
        minor = _number(members, "DeviceFileMinor", file)
        path = f"/dev/nvidia-caps/nvidia-cap{minor}"
        return DeviceNode(
            path,
            path,
            type="c",
            major=self._major(),
            minor=minor,
            file_mode=_number(members, "DeviceFileMode", file),
        )

    def _major(self) -> int:
        file = self.proc / "devices"
        try:
            lines = file.read_text().splitlines()
        except OSError as error:
            raise MissingNodeError(f"MIG needs {file}: {error.strerror}") from error
        section = ""
        for line in lines:
            if line.endswith(":"):
                section = line
            words = line.split()
            if section == CHARACTER_DEVICES and words[1:] == [DRIVER_ENTRY]:
                return int(words[0])
        raise MissingNodeError(f"MIG needs {DRIVER_ENTRY} in {file}: is the driver loaded?")


def _members(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        raise MissingNodeError(f"MIG needs {file}: {error.strerror}") from error
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(members: dict[str, str], name: str, file: Path) -> int:
    value = members.get(name, "")
    if not value.isdecimal():
        raise MissingNodeError(f"{file}: expected {name} with a number, got {value!r}")
    return int(value)
