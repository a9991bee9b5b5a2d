"""Live GPU state as values: what a page shows of a device, an agent and a prepared claim."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from dra_console.telemetry.messages import Source

STALE_AFTER_SECONDS: Final = 15
"""Agents speak once a second; after this silence the last value is shown as stale, never as 0."""

_STALE_AFTER = timedelta(seconds=STALE_AFTER_SECONDS)


class DeviceKey(NamedTuple):
    """Which device: the three names that a claim's allocation carries, too."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The latest readings of one device; what its board or driver does not report is `None`."""

    taken_at: datetime
    """On the node's clock: for display only, since clocks differ."""

    received_at: datetime
    """On the console's clock: what staleness is reckoned from."""

    utilisation_percent: int | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_milliwatts: int | None
    temperature_celsius: int | None
    sm_clock_megahertz: int | None
    health: str | None = None
    """In words, as in `unhealthy: the GPU has fallen off the bus`; `None`: not told."""

    def is_stale(self, now: datetime) -> bool:
        """Tell whether the agent has been silent for so long that this is history."""
        return now - self.received_at > _STALE_AFTER


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """A node's agent, as its newest connection introduced itself."""

    node_name: str
    version: str
    source: Source
    driver: str
    pool: str
    connected_at: datetime
    last_seen_at: datetime

    def is_stale(self, now: datetime) -> bool:
        """Tell whether the agent has said nothing for 15 s."""
        return now - self.last_seen_at > _STALE_AFTER


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """A device that a node has made ready for a claim, under the identity it has there."""

    node_name: str
    driver: str
    pool: str
    device: str
    uuid: str | None
    """UUID of the GPU or of the MIG device; `None` if the agent did not say."""

    cdi_ids: tuple[str, ...]
    """What kubelet hands to the container runtime."""

    prepared_at: datetime


@dataclass(frozen=True, slots=True)
class HeldAndUsed:
    """How many devices were held by claims at one moment, and how much of them was used."""

    at: datetime
    held_devices: int
    used_devices: float
    """Sum of the held devices' utilisation, in devices: 2 at 50 % are 1.0."""

    unknown_devices: int
    """Held devices without a fresh utilisation; with any, `used_devices` is a lower bound."""
