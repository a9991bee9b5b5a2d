"""A process that the driver says uses a device."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """One process on one device."""

    device: str
    pid: int
    """In the host's namespace of process ids."""

    memory_bytes: int | None = None
    """What it holds of the device's memory; `None` where the driver does not say."""


ProcessesByDevice: TypeAlias = dict[str, tuple[GpuProcess, ...] | None]
"""By the device's name; `None` where the driver does not tell them now."""


class ProcessLister(Protocol):
    """Lists processes; the readers of GPUs are such ones."""

    def processes(self) -> ProcessesByDevice:
        """Return the processes of every device that is there; never raises for one GPU.

        Raises:
            DevicesError: there is no driver to ask, or it does not answer.

        """
        ...
