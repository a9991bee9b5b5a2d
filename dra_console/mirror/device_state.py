"""What a device is for somebody who wants one now: its state, why, and who holds it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dra_console.allocator.world.taints import BLOCKING_EFFECTS
from dra_console.mirror.models import Device


class State(StrEnum):
    """What a device is for somebody who wants one now."""

    FREE = "free"
    HELD = "held"
    TAINTED = "tainted"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Holder:
    """One open assignment of a device to a claim."""

    claim_uid: str
    claim_namespace: str
    claim_name: str
    request: str
    """`request` or `request/subrequest`."""

    share_id: str
    """Empty unless the device is shared between claims."""

    admin_access: bool
    """True: watches the device without holding it."""

    assigned_at: datetime


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint on a device."""

    key: str
    value: str
    effect: str
    """`NoSchedule`, `NoExecute` or `None`, as the API spells it."""

    time_added: str
    """RFC 3339, as published; empty if it says none."""

    rule: str
    """Name of the DeviceTaintRule that adds it; empty: the driver published it."""

    @property
    def keeps_off(self) -> bool:
        """Tell whether it keeps claims off that do not tolerate it."""
        return self.effect in BLOCKING_EFFECTS

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        by_rule = f" (rule {self.rule})" if self.rule else ""
        return f"{self.key}{value}:{self.effect}{by_rule}"


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One device of the newest generation of its pool, and what holds it up."""

    device: Device
    state: State
    holders: tuple[Holder, ...]
    """Claims that hold it or watch it (`admin_access`), oldest first."""

    taints: tuple[Taint, ...]
    """All of them, effect `None` included."""

    reason: str
    """Why it is tainted or unavailable, as a sentence part; empty when free or held."""

    is_blocked: bool
    """A partition whose counters are used up by held ones; `state` is then unavailable."""

    counts: bool
    """False for partitions that overlap with what is counted; see the module's text."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Name the device as telemetry keys do: driver, pool, device."""
        return (self.device.driver, self.device.pool, self.device.name)

    @property
    def node_name(self) -> str:
        """Name the node; empty for a device that is not one node's."""
        return self.device.node_name
