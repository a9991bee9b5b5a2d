"""What a container gets with a device: who is asked for it, and the answer of the simulation.

Every source says `NVIDIA_VISIBLE_DEVICES=void` for every container of the claim, so that a legacy
runtime does not also inject all GPUs because the image asks for them.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from nodeagent.cdi.spec import ContainerEdits, DeviceNode
from nodeagent.devices.model import Device, MigMode

NOT_THE_LEGACY_RUNTIME: Final = "NVIDIA_VISIBLE_DEVICES=void"
HARMLESS_NODE: Final = "/dev/null"
SIMULATED_ADMINISTRATION: Final = (1, 2)
"""Minors of MIG's own configuration and monitoring."""

FIRST_SIMULATED_CAPABILITY: Final = 3
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
            CdiError: something that all devices need is not on the host.

        """
        ...

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:
        """Return what comes with one device; never empty.

        Raises:
            CdiError: the device cannot be handed out.

        """
        ...


@dataclass(frozen=True, slots=True)
class SimulatedEdits:
    """Harmless stand-ins: each node is `/dev/null`, the environment says what it pretends to be."""

    def common(self) -> ContainerEdits:
        return ContainerEdits(env=(NOT_THE_LEGACY_RUNTIME,))

    def of(self, device: Device, access: Access = PLAIN) -> ContainerEdits:
        variable = device.name.upper().replace("-", "_")
        capabilities: list[int] = []
        if device.partition is not None:
            # A real partition comes with the nodes of its GPU and compute instance.
            place = device.partition.profile.id * 8 + device.partition.start
            first = FIRST_SIMULATED_CAPABILITY + device.gpu.minor * CAPABILITIES_PER_GPU + place * 2
            capabilities += [first, first + 1]
        if access.is_administrative and device.gpu.mig_mode is not MigMode.UNSUPPORTED:
            capabilities += SIMULATED_ADMINISTRATION
        nodes = (f"nvidia-caps/nvidia-cap{minor}" for minor in capabilities)
        return ContainerEdits(
            env=(f"DRA_SIMULATED_{variable}={device.uuid}",),
            device_nodes=tuple(
                DeviceNode(f"/dev/{node}", HARMLESS_NODE)
                for node in (f"nvidia{device.gpu.minor}", *nodes)
            ),
        )
