"""What the agent knows of GPUs: facts that hardly change, and readings of this second.

Whoever reads hardware implements `GpuReader`; there are two, NVML and the simulation, and nothing
behind this module can tell which one it serves. An optional fact or reading that the board does
not offer is `None`, never 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

from nodeagent.devices.events import Signs
from nodeagent.devices.mig import MigProfile, Partition, device_name


class MigMode(StrEnum):
    """Whether a GPU is cut into partitions; the words are the published attribute's values."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    UNSUPPORTED = "unsupported"


class Source(StrEnum):
    """Where facts and readings come from; the words are those of the live wire."""

    NVML = "nvml"
    SIMULATED = "simulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One physical GPU. Its identity is the UUID; the minor, hence its name, may change at boot."""

    minor: int
    uuid: str
    memory_bytes: int
    product_name: str | None = None
    brand: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    """`major.minor`, as in `9.0`."""

    driver_version: str | None = None
    cuda_driver_version: str | None = None
    pci_bus_id: str | None = None
    """`dddd:bb:dd.f` in lower case."""

    pcie_root: str | None = None
    """As in `pci0000:15`: GPUs with the same one talk to each other without the CPU."""

    numa_node: int | None = None
    near_numa_nodes: tuple[int, ...] = ()
    """Its own node first, then those of the same socket that are nearest to it (KEP-6072)."""

    ecc_mode: str | None = None
    addressing_mode: str | None = None
    """`ATS`, `HMM` or `None` (the driver's word for neither)."""

    persistence: bool | None = None
    serial: str | None = None
    """Names one board for ever: published only if the administrator wants that."""

    board_part_number: str | None = None
    virtualization: str | None = None
    """`none`, `passthrough` or `vgpu`."""

    nvlink_clique: str | None = None
    """`<cluster UUID>.<clique id>`: GPUs with the same one share a multi-node NVLink fabric."""

    mig_mode: MigMode = MigMode.UNSUPPORTED
    """The mode now. With `toggles_mig` it follows the claims of the moment: not to be published."""

    is_dynamic: bool = False
    """Its partitions are made for claims and taken away after them."""

    toggles_mig: bool = False
    """Dynamic, and MIG mode switches without a reset: the whole GPU is offered, too."""

    partitions: tuple[Partition, ...] = ()
    """Dynamic: every place where a partition may be. Static: the partitions that exist."""

    @property
    def name(self) -> str:
        """Its name in the pool. By minor: NVML's index shifts when another GPU is drained."""
        return f"gpu-{self.minor}"

    @property
    def is_offered_whole(self) -> bool:
        """Whether claims can have the undivided GPU."""
        return self.mig_mode is not MigMode.ENABLED or self.toggles_mig

    @property
    def profiles(self) -> tuple[MigProfile, ...]:
        """The profiles of its partitions, each once, in order."""
        return tuple(dict.fromkeys(partition.profile for partition in self.partitions))


@dataclass(frozen=True, slots=True)
class Device:
    """What the pool offers under one name: a whole GPU, or one partition of it."""

    name: str
    gpu: Gpu
    partition: Partition | None = None

    @property
    def uuid(self) -> str | None:
        """The identity that a container sees; `None` for a partition that does not exist yet."""
        return self.partition.uuid if self.partition else self.gpu.uuid


@dataclass(frozen=True, slots=True)
class Inventory:
    """All devices of the node in the order of preference, as discovered at one moment."""

    devices: tuple[Device, ...]
    source: Source

    @classmethod
    def of(cls, gpus: Iterable[Gpu], *, source: Source) -> Self:
        """Order GPUs by PCI address, each before its partitions, if it is offered at all."""
        in_order = sorted(gpus, key=lambda gpu: (gpu.pci_bus_id or "", gpu.minor))
        return cls(tuple(device for gpu in in_order for device in _offered_by(gpu)), source)

    def find(self, name: str) -> Device | None:
        """Return the device of that name, if the node has it."""
        return next((device for device in self.devices if device.name == name), None)


def _offered_by(gpu: Gpu) -> tuple[Device, ...]:
    whole = (Device(gpu.name, gpu),) if gpu.is_offered_whole else ()
    return whole + tuple(
        Device(device_name(gpu.minor, partition), gpu, partition) for partition in gpu.partitions
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The state of one device at one moment. `None` is "not reported"."""

    device: str
    uuid: str
    utilisation_percent: int | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_milliwatts: int | None = None
    temperature_celsius: int | None = None
    sm_clock_megahertz: int | None = None
    process_count: int | None = None
    """Processes that use the device; stays on the node, where it protects a claim in use."""


class GpuReader(Signs, Protocol):
    """One source of facts and readings.

    Safe to call from any thread; one call at a time reaches the driver. A driver that hangs costs
    a caller seconds, never more: then `DriverTimeoutError` says so.
    """

    source: Source

    def discover(self) -> tuple[Gpu, ...]:
        """Find all GPUs of the node.

        Raises:
            NoDriverError: there is no usable driver now.
            DriverTimeoutError: the driver does not answer.

        """
        ...

    def read(self) -> tuple[Reading, ...]:
        """Read every device that can be read now; never raises for a single field or GPU.

        Raises:
            NoDriverError: as in `discover`.
            DriverTimeoutError: as in `discover`.

        """
        ...

    def close(self) -> None:
        """Let the driver go."""
        ...
