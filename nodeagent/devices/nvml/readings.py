"""The state of GPUs and partitions at this moment (node-agent.md 6.1)."""

from typing import Any

import pynvml

from nodeagent.devices.gpu_process import GpuProcess
from nodeagent.devices.model import Reading
from nodeagent.devices.nvml.calls import Calls


def gpu_reading(name: str, uuid: str, handle: object, *, calls: Calls) -> Reading:
    """Read a whole GPU.

    Raises:
        DevicesError: as `Calls.optional`.

    """
    rates = calls.optional(
        uuid, "utilisation", lambda: pynvml.nvmlDeviceGetUtilizationRates(handle)
    )
    memory = memory_of(uuid, handle, calls=calls)
    return Reading(
        device=name,
        uuid=uuid,
        utilisation_percent=rates.gpu if rates else None,
        memory_used_bytes=memory.used if memory else None,
        memory_total_bytes=memory.total if memory else None,
        power_milliwatts=calls.optional(
            uuid, "power", lambda: pynvml.nvmlDeviceGetPowerUsage(handle)
        ),
        temperature_celsius=calls.optional(
            uuid,
            "temperature",
            lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        ),
        sm_clock_megahertz=calls.optional(
            uuid, "sm clock", lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        ),
        process_count=_process_count(uuid, handle, calls=calls),
    )


def partition_reading(name: str, uuid: str, handle: object, *, calls: Calls) -> Reading:
    """Read a partition: its memory and processes. All else that NVML tells is its GPU's.

    Raises:
        DevicesError: as `Calls.optional`.

    """
    memory = memory_of(uuid, handle, calls=calls)
    return Reading(
        device=name,
        uuid=uuid,
        memory_used_bytes=memory.used if memory else None,
        memory_total_bytes=memory.total if memory else None,
        process_count=_process_count(uuid, handle, calls=calls),
    )


def memory_of(uuid: str, handle: object, *, calls: Calls) -> Any:  # noqa: ANN401 - pynvml is untyped
    """Ask for the memory of a GPU or partition; `None` where it is not told.

    Raises:
        DevicesError: as `Calls.optional`.

    """
    # Version 1 of the call counts the driver's own reserve as used.
    return calls.optional(
        uuid,
        "memory",
        lambda: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2),
    ) or calls.optional(uuid, "memory v1", lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))


def processes_on(
    device: str, uuid: str, handle: object, *, calls: Calls
) -> tuple[GpuProcess, ...] | None:
    """List the processes that compute or draw on a device, each once; `None` if not told now.

    Raises:
        DevicesError: as `Calls.offered`.

    """
    try:
        computing = calls.offered(
            uuid, "processes", lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        )
        drawing = calls.offered(
            uuid, "graphics processes", lambda: pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle)
        )
        # Clients of a control daemon; the driver lists them apart.
        sharing = calls.offered(
            uuid, "mps processes", lambda: pynvml.nvmlDeviceGetMPSComputeRunningProcesses(handle)
        )
    except pynvml.NVMLError:
        return None
    if computing is None:
        return None
    listed = (*(drawing or ()), *(sharing or ()), *computing)
    by_pid = {one.pid: one.usedGpuMemory for one in listed}
    return tuple(
        GpuProcess(device=device, pid=pid, memory_bytes=memory)
        for pid, memory in sorted(by_pid.items())
    )


def _process_count(uuid: str, handle: object, *, calls: Calls) -> int | None:
    processes = calls.optional(
        uuid, "processes", lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    )
    return len(processes) if processes is not None else None
