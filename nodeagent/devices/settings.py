"""How the GPUs of a node are to be looked at."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


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
