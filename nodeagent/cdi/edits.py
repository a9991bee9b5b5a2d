"""What a container gets with a device: of a real GPU, or of a simulated one.

Both say `NVIDIA_VISIBLE_DEVICES=void` for every container of the claim, so that a legacy runtime
does not also inject all GPUs because the image asks for them.
"""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from nodeagent.cdi.errors import CdiError, MissingNodeError
from nodeagent.cdi.spec import ContainerEdits, DeviceNode
from nodeagent.devices.model import Device

NOT_THE_LEGACY_RUNTIME: Final = "NVIDIA_VISIBLE_DEVICES=void"
CONTROL_NODES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
"""CUDA starts with none of them missing."""

HARMLESS_NODE: Final = "/dev/null"
FIRST_SIMULATED_CAPABILITY: Final = 3
"""The minors below belong to MIG's own configuration and monitoring."""

CAPABILITIES_PER_GPU: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a claim holds a device, as far as the container's edits depend on it."""

    gpu_instance_id: int | None = None
    """Of the MIG instance that the claim's plan created; `None`: of the partition itself."""

    compute_instance_id: int | None = None
    is_administrative: bool = False
    """The claim watches over a device that others use (`adminAccess`)."""


PLAIN: Final = Access()
"""The device is the claim's, as it is."""


class EditsSource(Protocol):
    """Knows how this node's devices get into a container.

    What a way of sharing needs on top (MPS: pipe directory and shared memory) comes from the
    caller: `edits.of(device, access).merged(extra)`.
    """

    def common(self) -> ContainerEdits:
        """Return what every container with one of the claim's devices gets.

        Raises:
            MissingNodeError: something that all devices need is not on the host.

        """
        ...

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:
        """Return what comes with one device; never empty.

        Raises:
            CdiError: the device cannot be handed out.

        """
        ...


@dataclass(frozen=True, slots=True)
class NvidiaEdits:
    """Device nodes of real GPUs. Nothing is cached: nodes come and go with the driver.

    Driver libraries are not injected yet: an image has to bring them, or the runtime does.
    """

    dev: Path = Path("/dev")
    """Where the host's device nodes are seen from here; the file always says `/dev`."""

    def common(self) -> ContainerEdits:
        nodes = self._nodes(CONTROL_NODES, needed_by="CUDA")
        return ContainerEdits(env=(NOT_THE_LEGACY_RUNTIME,), device_nodes=nodes)

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:  # noqa: ARG002 - soon
        if device.partition is not None:
            raise CdiError(f"{device.name}: MIG partitions of real GPUs cannot be prepared yet")
        return ContainerEdits(
            device_nodes=self._nodes([f"nvidia{device.gpu.minor}"], needed_by=device.name)
        )

    def _nodes(self, names: Iterable[str], *, needed_by: str) -> tuple[DeviceNode, ...]:
        nodes = []
        for name in names:
            if not _is_character_device(self.dev / name):
                raise MissingNodeError(
                    f"{needed_by} needs {self.dev / name}, which is no character device there:"
                    " is the driver loaded? (nvidia-modprobe -u -c0 makes the nodes)"
                )
            nodes.append(DeviceNode(f"/dev/{name}", f"/dev/{name}"))
        return tuple(nodes)


@dataclass(frozen=True, slots=True)
class SimulatedEdits:
    """Harmless stand-ins: each node is `/dev/null`, the environment says what it pretends to be."""

    def common(self) -> ContainerEdits:
        return ContainerEdits(env=(NOT_THE_LEGACY_RUNTIME,))

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:  # noqa: ARG002 - soon
        variable = device.name.upper().replace("-", "_")
        nodes = [f"/dev/nvidia{device.gpu.minor}"]
        if device.partition is not None:
            # A real partition comes with the nodes of its GPU and compute instance.
            place = device.partition.profile.id * 8 + device.partition.start
            first = FIRST_SIMULATED_CAPABILITY + device.gpu.minor * CAPABILITIES_PER_GPU + place * 2
            nodes += [f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in (first, first + 1)]
        return ContainerEdits(
            env=(f"DRA_SIMULATED_{variable}={device.uuid}",),
            device_nodes=tuple(DeviceNode(path, HARMLESS_NODE) for path in nodes),
        )


def _is_character_device(path: Path) -> bool:
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False
