"""What state each device is in, and numbers about devices that add up.

One question, answered here for pages and REST alike: is a device free, held, tainted or
unavailable, by whom or why? `device_states` reads mirror rows in a fixed number of queries
and folds them; nothing here knows of users. Holders carry namespace and name: callers
filter them by the reader's rights (`Holder.claim_namespace` against
`access.rules.visible_namespaces(user, cluster, RESOURCE_CLAIMS)`) before they show them.

First rule that applies decides the state:

1. `held`: a claim holds it (admin access holds nothing), however sick it is.
2. `unavailable`: nobody can get it now: its pool is incomplete or invalid, its node is gone,
   not ready or cordoned, or counters that it draws on are used up by held partitions
   (`is_blocked`). `reason` says which.
3. `tainted`: a NoSchedule or NoExecute taint, published or by a DeviceTaintRule; whoever
   tolerates it can have it.
4. `free`.

Numbers never add overlapping partitions. The options of one board (a whole GPU, or its
halves, or its sevenths) exclude one another, so `counts` marks a set of devices that can
exist side by side: everything held, then the largest options that the counters still
allow. `tally` counts those alone; hence free + held + tainted + unavailable = total,
an idle board counts once, and a page draws exactly the devices with `counts`
(`dra-semantics.md` 3.10).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dra_console.mirror.models import Cluster, Device


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


@dataclass(frozen=True, slots=True)
class Tally:
    """Devices that exist side by side, by state; the four parts are the total."""

    total: int
    free: int
    held: int
    tainted: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class CounterBalance:
    """How much of one shared counter is held, in the counter's own unit."""

    counter_set: str
    counter: str
    total: int
    held: int


@dataclass(frozen=True, slots=True)
class PoolNumbers:
    """One pool's numbers; lower bounds while slices are missing."""

    driver: str
    pool: str
    node_name: str
    tally: Tally
    counters: tuple[CounterBalance, ...]
    slices_seen: int
    slices_expected: int
    problem: str

    @property
    def is_lower_bound(self) -> bool:
        """Tell whether more devices may exist than were seen: show the numbers with a >= sign."""
        return self.slices_seen < self.slices_expected


def device_states(cluster: Cluster) -> list[DeviceState]:
    """Read the state of every device, in order of driver, pool and the driver's own order.

    Takes a fixed number of queries, whatever the number of devices.
    """


def tally(states: Iterable[DeviceState]) -> Tally:
    """Count the devices that `counts` marks, by state."""


def pool_numbers(cluster: Cluster, *, states: Collection[DeviceState]) -> list[PoolNumbers]:
    """Fold device states per pool; a pool without devices is there with zero of them."""


def tally_by_model(states: Iterable[DeviceState]) -> dict[str, Tally]:
    """Count per product name, as published; "" collects devices that publish none."""
