"""What lies in Redis about live GPU state, under which names, and how large it may grow.

| key (after `telemetry:<cluster id>:`) | type, one entry a | bound |
| --- | --- | --- |
| `latest` | hash, node: `LatestRecord` | nodes seen in a day |
| `details` | hash, node: `DetailsRecord` | nodes seen in a day |
| `agents` | hash, node: `AgentRecord` | nodes seen in a day |
| `seen` | sorted set, node by Unix time of its last frame | nodes seen in a day |
| `owner` | hash, node: id of its newest connection | nodes seen in a day |
| `claims:<node>` | hash, claim UID: the node's entry of `prepared` | `messages.Claims` |
| `prepared:<claim uid>` | hash, node: list of `PreparedRecord` | one entry a node |
| `history:<driver>/<pool>` | list of `HistoryRecord`, newest first | 180 |
| `held-and-used` | list of `HeldAndUsedRecord`, newest first | 240 |
| `held-and-used:turn` | present once the point of this interval is written | one |

Every key expires by itself; `record` prunes nodes that have been silent for a day. All of
it can be lost at any time: agents tell everything again within 30 s.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from dra_console.telemetry.details import DeviceDetails
from dra_console.telemetry.messages import Source

KEPT_SECONDS: Final = 24 * 3600
"""A silent node's last values are shown as stale for a day; then there is no reading."""

HISTORY_INTERVAL_SECONDS: Final = 5
HISTORY_POINTS: Final = 180
"""Fifteen minutes."""

HELD_AND_USED_INTERVAL_SECONDS: Final = 15
HELD_AND_USED_POINTS: Final = 240
"""One hour."""


class DeviceRecord(msgspec.Struct, frozen=True, array_like=True):
    """One device's latest readings."""

    device: str
    utilisation_percent: int | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_milliwatts: int | None
    temperature_celsius: int | None
    sm_clock_megahertz: int | None
    health: str | None = None
    """In words, as in `unhealthy: the GPU has fallen off the bus`."""


class LatestRecord(msgspec.Struct, frozen=True):
    """A node's latest sample."""

    driver: str
    pool: str
    taken_at: datetime
    received_at: datetime
    devices: tuple[DeviceRecord, ...]


class DetailsRecord(msgspec.Struct, frozen=True):
    """What a node's agent said last beyond readings."""

    driver: str
    pool: str
    received_at: datetime
    devices: dict[str, DeviceDetails]


class AgentRecord(msgspec.Struct, frozen=True):
    """How a node's newest connection introduced itself."""

    version: str
    source: Source
    driver: str
    pool: str
    boot_id: str
    connected_at: datetime


class PreparedRecord(msgspec.Struct, frozen=True):
    """One device that a node has prepared for one claim."""

    driver: str
    pool: str
    device: str
    uuid: str | None
    cdi_ids: tuple[str, ...]
    prepared_at: datetime


class HistoryRecord(msgspec.Struct, frozen=True, array_like=True):
    """Utilisation of every device of a pool at one moment."""

    at: datetime
    utilisation_percent_by_device: dict[str, int | None]


class HeldAndUsedRecord(msgspec.Struct, frozen=True, array_like=True):
    """One point of the overview's chart; see `readings.HeldAndUsed`."""

    at: datetime
    held_devices: int
    used_devices: float
    unknown_devices: int


details_decoder = msgspec.json.Decoder(DetailsRecord)
latest_decoder = msgspec.json.Decoder(LatestRecord)
agent_decoder = msgspec.json.Decoder(AgentRecord)
prepared_decoder = msgspec.json.Decoder(tuple[PreparedRecord, ...])
history_decoder = msgspec.json.Decoder(HistoryRecord)
held_and_used_decoder = msgspec.json.Decoder(HeldAndUsedRecord)
encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Keys:
    """Names of one cluster's keys, as in the table above."""

    cluster_id: int

    @property
    def latest(self) -> str:
        return f"telemetry:{self.cluster_id}:latest"

    @property
    def details(self) -> str:
        return f"telemetry:{self.cluster_id}:details"

    @property
    def agents(self) -> str:
        return f"telemetry:{self.cluster_id}:agents"

    @property
    def seen(self) -> str:
        return f"telemetry:{self.cluster_id}:seen"

    @property
    def owner(self) -> str:
        return f"telemetry:{self.cluster_id}:owner"

    def claims(self, node_name: str) -> str:
        return f"telemetry:{self.cluster_id}:claims:{node_name}"

    def prepared(self, claim_uid: str) -> str:
        return f"telemetry:{self.cluster_id}:prepared:{claim_uid}"

    def history(self, *, driver: str, pool: str) -> str:
        return f"telemetry:{self.cluster_id}:history:{driver}/{pool}"

    @property
    def held_and_used(self) -> str:
        return f"telemetry:{self.cluster_id}:held-and-used"

    @property
    def held_and_used_turn(self) -> str:
        """Present while the point of the current interval is written already."""
        return f"telemetry:{self.cluster_id}:held-and-used:turn"
