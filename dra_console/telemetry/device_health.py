"""What an agent says of a device's health."""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class HealthStatus(StrEnum):
    """Whether a device works, as its node's agent judges."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


class DeviceHealth(msgspec.Struct, frozen=True):
    """How a device is, and why."""

    status: HealthStatus
    message: Annotated[str, Meta(pattern=r"^[ -~]*\Z", max_length=300)] = ""

    def __str__(self) -> str:
        return f"{self.status}: {self.message}" if self.message else str(self.status)
