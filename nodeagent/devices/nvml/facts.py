"""What one GPU is: the facts of node-agent.md 5.1, each of which may be missing but three."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pynvml

from nodeagent.devices.model import Gpu, MigMode
from nodeagent.devices.numa import near_numa_nodes
from nodeagent.devices.nvml.calls import Calls
from nodeagent.devices.nvml.names import (
    ADDRESSING_MODES,
    ECC_MODES,
    VIRTUALIZATION,
    architecture,
    brand,
)
from nodeagent.devices.sysfs import pcie_root, physical_numa_node, short_bus_id

FABRIC_IS_COMPLETE: Final = 3
HOPPER: Final = 9
"""The first compute capability (major) whose MIG mode switches without a reset."""


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What all GPUs of a node have in common."""

    driver_version: str | None
    cuda_driver_version: str | None

    @classmethod
    def ask(cls, calls: Calls) -> "DriverFacts":
        """Ask the library."""
        cuda = calls.lasting("", "cuda version", pynvml.nvmlSystemGetCudaDriverVersion)
        return cls(
            driver_version=calls.lasting("", "driver version", pynvml.nvmlSystemGetDriverVersion),
            cuda_driver_version=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        )


def facts_of(handle: object, *, calls: Calls, driver: DriverFacts, sysfs: Path) -> Gpu:
    """Describe one GPU, without its partitions.

    Raises:
        pynvml.NVMLError: it does not say its UUID, minor or memory, without which it is of no
            use, or could not be asked for what decides whether and how it is offered.
        DevicesError: as `Calls.offered`.

    """
    uuid: str = pynvml.nvmlDeviceGetUUID(handle)

    def ask(name: str, function: Callable[[object], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
        return calls.lasting(uuid, name, lambda: function(handle))

    def ask_surely(name: str, function: Callable[[object], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
        return calls.offered(uuid, name, lambda: function(handle))

    pci = ask("pci", pynvml.nvmlDeviceGetPciInfo)
    address = short_bus_id(pci.busId) if pci is not None else None
    numa_node = physical_numa_node(sysfs, address) if address else None
    capability = ask_surely("compute capability", pynvml.nvmlDeviceGetCudaComputeCapability)
    ecc = ask("ecc mode", pynvml.nvmlDeviceGetEccMode)
    persistence = ask("persistence", pynvml.nvmlDeviceGetPersistenceMode)
    return Gpu(
        minor=pynvml.nvmlDeviceGetMinorNumber(handle),
        uuid=uuid,
        memory_bytes=pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        product_name=ask_surely("name", pynvml.nvmlDeviceGetName),
        brand=brand(ask("brand", pynvml.nvmlDeviceGetBrand)),
        architecture=architecture(ask("architecture", pynvml.nvmlDeviceGetArchitecture)),
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        driver_version=driver.driver_version,
        cuda_driver_version=driver.cuda_driver_version,
        pci_bus_id=address,
        pcie_root=pcie_root(sysfs, address) if address else None,
        numa_node=numa_node,
        near_numa_nodes=() if numa_node is None else near_numa_nodes(sysfs, numa_node),
        ecc_mode=ECC_MODES[bool(ecc[0])] if ecc else None,
        addressing_mode=ADDRESSING_MODES.get(ask("addressing mode", _addressing_mode)),
        persistence=bool(persistence) if persistence is not None else None,
        serial=ask("serial", pynvml.nvmlDeviceGetSerial),
        board_part_number=ask("part number", pynvml.nvmlDeviceGetBoardPartNumber),
        virtualization=VIRTUALIZATION.get(
            ask_surely("virtualization", pynvml.nvmlDeviceGetVirtualizationMode)
        ),
        nvlink_clique=ask("fabric", _clique),
        mig_mode=mig_mode(ask_surely("mig mode", pynvml.nvmlDeviceGetMigMode)),
    )


def mig_mode(modes: "list[int] | None") -> MigMode:
    """Name the current mode; a GPU that does not offer any has no MIG."""
    if modes is None:
        return MigMode.UNSUPPORTED
    return MigMode.ENABLED if modes[0] == pynvml.NVML_DEVICE_MIG_ENABLE else MigMode.DISABLED


def switches_without_reset(gpu: Gpu) -> bool:
    """Tell whether MIG mode can follow the claims; Ampere would need a reset of the GPU."""
    if gpu.mig_mode is MigMode.UNSUPPORTED or gpu.compute_capability is None:
        return False
    return int(gpu.compute_capability.split(".")[0]) >= HOPPER


def _addressing_mode(handle: object) -> int:
    mode: int = pynvml.nvmlDeviceGetAddressingMode(handle)
    return mode


def _clique(handle: object) -> str | None:
    info = pynvml.c_nvmlGpuFabricInfoV_t()
    pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
    if info.state != FABRIC_IS_COMPLETE or info.status != pynvml.NVML_SUCCESS:
        return None
    if not any(info.clusterUuid):
        # One machine with switches of its own: nothing that machines could share.
        return None
    digits = bytes(info.clusterUuid).hex()
    cuts = (0, 8, 12, 16, 20, 32)
    cluster = "-".join(digits[start:end] for start, end in pairwise(cuts))
    return f"{cluster}.{info.cliqueId}"
