"""What the driver tells of a GPU's health: events as they come, and vital signs on asking.

Both are raw: whether an Xid makes a device unhealthy is for `health` to say (node-agent.md 6.3 to
6.5). What is not known is `None`, never "well".
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Protocol


class EventKind(StrEnum):
    """Which of NVML's events it was."""

    XID = "xid"
    SINGLE_BIT_ECC = "single-bit-ecc"
    DOUBLE_BIT_ECC = "double-bit-ecc"
    GPU_UNAVAILABLE = "gpu-unavailable"
    RECOVERY_ACTION = "recovery-action"
    """The recommended action changed: look at the vitals."""


class RecoveryAction(IntEnum):
    """What the driver recommends to bring a GPU back (field 230)."""

    NONE = 0
    GPU_RESET = 1
    NODE_REBOOT = 2
    DRAIN_P2P = 3
    DRAIN_AND_RESET = 4
    RECOVER_IMEX_DOMAIN = 5
    BUS_RESET = 6
    SYSTEM_REBOOT = 7
    UNKNOWN = -1
    """A number that this agent does not know; not the same as not being told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEvent:
    """One event of one GPU, or of one partition of it."""

    kind: EventKind
    gpu_uuid: str
    at: datetime
    """When it was received, in UTC."""

    xid: int | None = None
    """The error's number, for `EventKind.XID` alone."""

    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    """Both `None`: it concerns the whole GPU, with all its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRemap:
    """Rows of memory that were, or could not be, replaced by spare ones (Ampere and later)."""

    corrected: int
    uncorrected: int
    is_pending: bool
    """A reset is needed to make it effective."""

    has_failed: bool
    """No spare rows are left: the board is to be replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """The health of one GPU at one moment."""

    gpu_uuid: str
    age_seconds: float
    """How long ago this was read; it grows while the driver does not answer."""

    is_lost: bool | None = None
    """The GPU is off the bus, as far as the driver can tell."""

    is_monitored: bool | None = None
    """Whether its events would arrive; `None` before the first attempt to register."""

    needs_reset: bool | None = None
    """The driver refuses calls until a reset (NVML's `RESET_REQUIRED`)."""

    recovery_action: RecoveryAction | None = None
    row_remap: RowRemap | None = None
    ecc_corrected: int | None = None
    """Since the driver was loaded, like the next one."""

    ecc_uncorrected: int | None = None
    has_retired_pages_pending: bool | None = None
    """Before Ampere: memory pages wait for a reboot to be taken out of use."""

    is_mig_mode_pending: bool | None = None
    """MIG mode was switched, and a reset is needed to make it effective."""

    is_hot: bool | None = None
    """The hardware slows itself down because of its temperature."""

    unknown_errors: int = 0
    """How many looks in a row ended in NVML's `UNKNOWN` (999)."""

    missing_nodes: tuple[str, ...] | None = None
    """Paths of device nodes that CUDA needs and this host has not."""


class Signs(Protocol):
    """What tells of the health of a node's GPUs; readers of GPUs are such ones."""

    def events(self) -> tuple[DriverEvent, ...]:
        """Return the events since the last call, oldest first; never waits for the driver."""
        ...

    def vitals(self) -> tuple[Vitals, ...]:
        """Return the health of every GPU that was ever found, lost ones too; never raises.

        Where the driver does not answer in time, these are the last known ones with their age;
        empty before the first discovery.
        """
        ...
