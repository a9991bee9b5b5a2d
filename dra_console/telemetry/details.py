"""What an agent says of a device beyond its readings: for the page of one device, not for boards.

Agents look at it every ten seconds, and at processes every thirty. What a board or driver does not
report is `None`, never 0. Sources of the fields: NVML, as `docs/node-agent.md` says.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from dra_console.telemetry.bounds import (
    BYTES,
    CELSIUS,
    COUNTER,
    MEGAHERTZ,
    MILLIWATTS,
    PERCENT,
    Bounds,
    keep_within,
)
from dra_console.telemetry.wire_types import Identifier

STALE_AFTER: Final = timedelta(seconds=30)
"""Three times the agents' interval: a lost frame alone makes nothing stale."""

Word: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9][-a-z0-9]*\Z", max_length=40)]
"""A newer driver may have words that this console does not know; they are shown as they are."""


class DeviceProcess(msgspec.Struct, frozen=True, omit_defaults=True):
    """One process on a device, by its id on the node."""

    pid: Annotated[int, Meta(ge=1, le=2**31)]
    memory_used_bytes: int | None = None
    pod_uid: Identifier | None = None
    """`None`: of no pod, as far as the agent can see."""

    container_id: Identifier | None = None

    def __post_init__(self) -> None:
        keep_within(self, {"memory_used_bytes": BYTES})


class DeviceDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device's details, complete as of one moment."""

    memory_reserved_bytes: int | None = None
    memory_controller_percent: int | None = None
    encoder_percent: int | None = None
    decoder_percent: int | None = None
    bar1_used_bytes: int | None = None
    bar1_total_bytes: int | None = None
    power_limit_milliwatts: int | None = None
    energy_millijoules: int | None = None
    """Since the driver was loaded."""

    memory_temperature_celsius: int | None = None
    slowdown_temperature_celsius: int | None = None
    graphics_clock_megahertz: int | None = None
    memory_clock_megahertz: int | None = None
    video_clock_megahertz: int | None = None
    sm_clock_limit_megahertz: int | None = None
    clock_limits: Annotated[tuple[Word, ...], Meta(max_length=32)] | None = None
    """Why clocks are not higher, as in `power-cap`; empty: nothing holds them back."""

    performance_state: int | None = None
    """0 is the fastest."""

    fan_percent: int | None = None
    ecc_corrected_errors: int | None = None
    """Since the driver was loaded, like the next one."""

    ecc_uncorrected_errors: int | None = None
    ecc_corrected_errors_ever: int | None = None
    ecc_uncorrected_errors_ever: int | None = None
    remapped_rows_corrected: int | None = None
    remapped_rows_uncorrected: int | None = None
    is_row_remap_pending: bool | None = None
    has_row_remap_failed: bool | None = None
    has_retired_pages_pending: bool | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    pcie_replays: int | None = None
    """Since the driver was loaded."""

    recovery_action: Word | None = None
    """What the driver recommends, as in `gpu-reset`; `none` is an answer, too."""

    process_count: int | None = None
    processes: Annotated[tuple[DeviceProcess, ...], Meta(max_length=64)] | None = None
    """Those with the most memory, where there are more than fit."""

    def __post_init__(self) -> None:
        keep_within(self, _BOUNDS)


_BOUNDS: Final = {
    "memory_reserved_bytes": BYTES,
    "memory_controller_percent": PERCENT,
    "encoder_percent": PERCENT,
    "decoder_percent": PERCENT,
    "bar1_used_bytes": BYTES,
    "bar1_total_bytes": BYTES,
    "power_limit_milliwatts": MILLIWATTS,
    "energy_millijoules": COUNTER,
    "memory_temperature_celsius": CELSIUS,
    "slowdown_temperature_celsius": CELSIUS,
    "graphics_clock_megahertz": MEGAHERTZ,
    "memory_clock_megahertz": MEGAHERTZ,
    "video_clock_megahertz": MEGAHERTZ,
    "sm_clock_limit_megahertz": MEGAHERTZ,
    "performance_state": Bounds(0, 15),
    "fan_percent": Bounds(0, 300),  # Of the speed that is meant for the board: it may go over it.
    "ecc_corrected_errors": COUNTER,
    "ecc_uncorrected_errors": COUNTER,
    "ecc_corrected_errors_ever": COUNTER,
    "ecc_uncorrected_errors_ever": COUNTER,
    "remapped_rows_corrected": COUNTER,
    "remapped_rows_uncorrected": COUNTER,
    "pcie_generation": Bounds(0, 100),
    "pcie_lanes": Bounds(0, 1024),
    "pcie_replays": COUNTER,
    "process_count": COUNTER,
}


@dataclass(frozen=True, slots=True)
class ReportedDetails:
    """A device's latest details, and when they came."""

    details: DeviceDetails
    received_at: datetime
    """On the console's clock."""

    def is_stale(self, now: datetime) -> bool:
        """Tell whether they are history."""
        return now - self.received_at > STALE_AFTER
