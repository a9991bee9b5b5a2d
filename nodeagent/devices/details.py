"""What a device tells of itself beyond its readings: slower, or of interest to one page only.

The readings (`model.Reading`) are asked for every second, because boards of a whole fleet are drawn
from them; these every ten seconds (node-agent.md 6.1). `None` is "not reported", never 0.
"""

from dataclasses import dataclass
from typing import Protocol

from nodeagent.devices.events import RecoveryAction


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProcess:
    """One process that uses a device, and whose it is."""

    pid: int
    """In the host's namespace of process ids."""

    memory_used_bytes: int | None = None
    pod_uid: str | None = None
    """`None`: of no pod, or not to be found out."""

    container_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """One device at one moment. A partition has none of what NVML tells of its GPU alone."""

    device: str
    memory_reserved_bytes: int | None = None
    """What the driver keeps of the memory for itself."""

    memory_controller_percent: int | None = None
    """Share of the time in which memory was read or written."""

    encoder_percent: int | None = None
    decoder_percent: int | None = None
    bar1_used_bytes: int | None = None
    bar1_total_bytes: int | None = None
    power_limit_milliwatts: int | None = None
    energy_millijoules: int | None = None
    """Since the driver was loaded."""

    memory_temperature_celsius: int | None = None
    slowdown_temperature_celsius: int | None = None
    """From here on the hardware slows itself down."""

    graphics_clock_megahertz: int | None = None
    memory_clock_megahertz: int | None = None
    video_clock_megahertz: int | None = None
    sm_clock_limit_megahertz: int | None = None
    clock_limits: tuple[str, ...] | None = None
    """Why clocks are not higher, as in `power-cap`; empty: nothing holds them back."""

    performance_state: int | None = None
    """0 is the fastest, 15 the slowest."""

    fan_percent: int | None = None
    ecc_corrected_errors: int | None = None
    """Since the driver was loaded, like the next one."""

    ecc_uncorrected_errors: int | None = None
    ecc_corrected_errors_ever: int | None = None
    ecc_uncorrected_errors_ever: int | None = None
    remapped_rows_corrected: int | None = None
    """Rows of memory that spare ones have replaced (Ampere and later)."""

    remapped_rows_uncorrected: int | None = None
    is_row_remap_pending: bool | None = None
    has_row_remap_failed: bool | None = None
    has_retired_pages_pending: bool | None = None
    """Before Ampere."""

    pcie_generation: int | None = None
    """Of the link as it is now; an idle one may be slower than it could be."""

    pcie_lanes: int | None = None
    pcie_replays: int | None = None
    """Packets that had to be sent again, since the driver was loaded."""

    recovery_action: RecoveryAction | None = None
    process_count: int | None = None
    processes: tuple[DeviceProcess, ...] | None = None
    """Those with the most memory first; there may be more than are told of."""


class DetailsReader(Protocol):
    """Reads details; the readers of GPUs are such ones."""

    def details(self) -> tuple[Details, ...]:
        """Read those of every device that `GpuReader.read` reads, without their processes.

        Raises:
            NoDriverError: there is no usable driver now.
            DriverTimeoutError: the driver does not answer.

        """
        ...
