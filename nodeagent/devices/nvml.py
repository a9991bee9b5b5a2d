"""GPUs as NVIDIA's management library shows them, through `pynvml`.

One NVML session stays open for the life of the reader: without persistence mode each first call
powers a GPU up, and handles die with the session (node-agent.md 6.1). Every optional call may
fail alone, and then that field alone is `None`.

A GPU in MIG mode is found, but none of its instances: reading those needs the capability nodes
and placements that this version does not handle. It is left out of the pool with a warning,
because offering the whole GPU would be wrong.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import pynvml
import structlog

from nodeagent.devices.errors import DriverChangedError, NoDriverError
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.model import Gpu, MigMode, Reading, Source
from nodeagent.devices.sysfs import pcie_root, physical_numa_node, short_bus_id

log = structlog.get_logger()
Answer = TypeVar("Answer")

ARCHITECTURES: Final = {
    pynvml.NVML_DEVICE_ARCH_KEPLER: "Kepler",
    pynvml.NVML_DEVICE_ARCH_MAXWELL: "Maxwell",
    pynvml.NVML_DEVICE_ARCH_PASCAL: "Pascal",
    pynvml.NVML_DEVICE_ARCH_VOLTA: "Volta",
    pynvml.NVML_DEVICE_ARCH_TURING: "Turing",
    pynvml.NVML_DEVICE_ARCH_AMPERE: "Ampere",
    pynvml.NVML_DEVICE_ARCH_ADA: "Ada Lovelace",
    pynvml.NVML_DEVICE_ARCH_HOPPER: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
BRANDS: Final = (
    "Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC",
    "NvidiaVCS", "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia",
    "GeForceRTX", "TitanRTX",
)  # fmt: skip
ECC_WORDS: Final = ("disabled", "enabled")

WITHOUT_DRIVER: Final = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
    }
)
"""Codes that concern the whole library, not one field of one GPU."""


@dataclass(slots=True)
class NvmlGpus:
    """The GPUs of this machine. Implements `GpuReader`."""

    sysfs: Path = Path("/sys")
    source: Source = field(default=Source.NVML, init=False)
    _is_open: bool = field(default=False, init=False)
    _readable: tuple[tuple[object, Gpu], ...] = field(default=(), init=False)
    """NVML's handle beside each GPU whose own readings are those of a device in the pool."""

    def discover(self) -> tuple[Gpu, ...]:
        self._open()
        found = []
        for index in range(_required(pynvml.nvmlDeviceGetCount)):
            try:
                handle = pynvml.nvmlDeviceGetHandleByIndex(index)
                found.append((handle, self._facts(handle)))
            except pynvml.NVMLError as error:
                _refuse_without_driver(error)
                log.warning("gpu left out", nvml_index=index, reason=str(error))
        stranded = [gpu.uuid for _, gpu in found if gpu.mig_mode is MigMode.ENABLED]
        if stranded:
            log.warning("gpus in mig mode left out", uuids=stranded)
        self._readable = tuple(
            (handle, gpu) for handle, gpu in found if gpu.mig_mode is not MigMode.ENABLED
        )
        return tuple(gpu for _, gpu in found)

    def read(self) -> tuple[Reading, ...]:
        return tuple(_reading(handle, gpu) for handle, gpu in self._readable)

    def events(self) -> tuple[DriverEvent, ...]:
        return ()

    def vitals(self) -> tuple[Vitals, ...]:
        return ()

    def close(self) -> None:
        self._readable = ()
        if self._is_open:
            self._is_open = False
            # A driver that is gone has no session left to end.
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()

    def _open(self) -> None:
        if self._is_open:
            return
        # A node whose GPUs are all bound to vfio-pci has a driver and no GPU: no error.
        _required(lambda: pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_GPUS))
        self._is_open = True

    def _facts(self, handle: object) -> Gpu:
        bus_id = _optional(lambda: pynvml.nvmlDeviceGetPciInfo(handle).busId)
        address = short_bus_id(bus_id) if bus_id is not None else None
        capability = _optional(lambda: pynvml.nvmlDeviceGetCudaComputeCapability(handle))
        cuda = _optional(pynvml.nvmlSystemGetCudaDriverVersion)
        ecc = _optional(lambda: pynvml.nvmlDeviceGetEccMode(handle))
        return Gpu(
            minor=pynvml.nvmlDeviceGetMinorNumber(handle),
            uuid=pynvml.nvmlDeviceGetUUID(handle),
            memory_bytes=pynvml.nvmlDeviceGetMemoryInfo(handle).total,
            product_name=_optional(lambda: pynvml.nvmlDeviceGetName(handle)),
            brand=_brand(_optional(lambda: pynvml.nvmlDeviceGetBrand(handle))),
            architecture=_architecture(_optional(lambda: pynvml.nvmlDeviceGetArchitecture(handle))),
            compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
            driver_version=_optional(pynvml.nvmlSystemGetDriverVersion),
            cuda_driver_version=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
            pci_bus_id=address,
            pcie_root=pcie_root(self.sysfs, address) if address else None,
            numa_node=physical_numa_node(self.sysfs, address) if address else None,
            ecc_mode=ECC_WORDS[bool(ecc[0])] if ecc else None,
            mig_mode=_mig_mode(_optional(lambda: pynvml.nvmlDeviceGetMigMode(handle))),
        )


def _reading(handle: object, gpu: Gpu) -> Reading:
    rates = _optional(lambda: pynvml.nvmlDeviceGetUtilizationRates(handle))
    memory = _optional(
        # Version 1 of the call counts the driver's own reserve as used.
        lambda: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    ) or _optional(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))
    processes = _optional(lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    return Reading(
        device=gpu.name,
        uuid=gpu.uuid,
        utilisation_percent=rates.gpu if rates else None,
        memory_used_bytes=memory.used if memory else None,
        memory_total_bytes=memory.total if memory else None,
        power_milliwatts=_optional(lambda: pynvml.nvmlDeviceGetPowerUsage(handle)),
        temperature_celsius=_optional(
            lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        ),
        sm_clock_megahertz=_optional(
            lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        ),
        process_count=len(processes) if processes is not None else None,
    )


def _architecture(number: int | None) -> str | None:
    return None if number is None else ARCHITECTURES.get(number, "Unknown")


def _brand(number: int | None) -> str | None:
    if number is None:
        return None
    return BRANDS[number] if 0 <= number < len(BRANDS) else "Unknown"


def _mig_mode(modes: "list[int] | None") -> MigMode:
    if modes is None:
        return MigMode.UNSUPPORTED
    return MigMode.ENABLED if modes[0] == pynvml.NVML_DEVICE_MIG_ENABLE else MigMode.DISABLED


def _required(call: Callable[[], Answer]) -> Answer:
    """Ask for something without which there is nothing to tell.

    Raises:
        NoDriverError: NVML refused.
        DriverChangedError: the library and the kernel's driver no longer fit together.

    """
    try:
        return call()
    except pynvml.NVMLError as error:
        _refuse_without_driver(error)
        raise NoDriverError(f"NVML: {error}") from error


# pynvml has no types: what a field's call returns is known where the field is made.
def _optional(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
    """Ask for one field; `None` if this GPU, driver or right does not offer it."""
    try:
        return call()
    except pynvml.NVMLError as error:
        _refuse_without_driver(error)
        return None


def _refuse_without_driver(error: "pynvml.NVMLError") -> None:
    code: int = error.value
    if code == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        raise DriverChangedError(f"NVML: {error}") from error
    if code in WITHOUT_DRIVER:
        raise NoDriverError(f"NVML: {error}") from error
