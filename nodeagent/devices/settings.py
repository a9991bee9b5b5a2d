"""How the GPUs of a node are to be looked at."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self


class MigPolicy(StrEnum):
    """Who makes partitions."""

    STATIC = "static"
    """The administrator: partitions that exist are offered, and nothing is changed."""

    DYNAMIC = "dynamic"
    """The agent: every possible place is offered, and a partition made for a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Paths are as seen by this process."""

    driver_root: Path = Path("/")
    """Under which the driver's libraries and programs lie."""

    sysfs: Path = Path("/sys")
    dev: Path = Path("/dev")
    mig: MigPolicy = MigPolicy.STATIC
    only_reads: bool = False
    """Whether to make no device nodes, and to wait for no events, which would keep GPUs open and
    so keep their own driver from switching MIG mode.
    """

    @classmethod
    def under(cls, driver_root: Path, *, mig: MigPolicy, only_reads: bool = False) -> Self:
        """Return the settings for a driver root; a driver container has device nodes of its own."""
        own = driver_root / "dev"
        dev = own if own.is_dir() else Path("/dev")
        return cls(driver_root=driver_root, dev=dev, mig=mig, only_reads=only_reads)
