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
allow. `mirror.tallies` counts those alone; hence free + held + tainted + unavailable =
total, an idle board counts once, and a page draws exactly the devices with `counts`.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import Json
from dra_console.allocator.world.taints import BLOCKING_EFFECTS, taints_from
from dra_console.mirror.device_rows import DeviceKey, DeviceRows, PoolKey, read_rows
from dra_console.mirror.models import Cluster, Device
from dra_console.mirror.partitions import Shortage, budget_of, draws_of, side_by_side


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


def device_states(cluster: Cluster) -> list[DeviceState]:
    """Read the state of every device, in order of driver, pool and the driver's own order.

    Takes a fixed number of queries, whatever the number of devices.
    """
    return _fold(read_rows(cluster))


def device_states_of_pool(cluster: Cluster, *, driver: str, pool: str) -> list[DeviceState]:
    """Read the states of one pool's devices; empty for an unknown pool."""
    return _fold(read_rows(cluster, pool=(driver, pool)))


def _fold(rows: DeviceRows) -> list[DeviceState]:
    devices_by_pool: dict[PoolKey, list[Device]] = defaultdict(list)
    for device in rows.devices:
        devices_by_pool[(device.driver, device.pool)].append(device)
    return [
        state
        for pool, devices in devices_by_pool.items()
        for state in _fold_pool(pool, devices=devices, rows=rows)
    ]


def _fold_pool(pool: PoolKey, *, devices: list[Device], rows: DeviceRows) -> list[DeviceState]:
    draws = {device.pk: draws_of(device.consumes_counters) for device in devices}
    holders = {device.pk: _holders(device, rows) for device in devices}
    held = {pk for pk, claims in holders.items() if any(not one.admin_access for one in claims)}
    budget = budget_of(
        rows.counters.get(pool, {}),
        draws=draws.values(),
        held=[draws[device.pk] for device in devices if device.pk in held],
    )
    shortages = {pk: budget.shortage(drawn) for pk, drawn in draws.items() if pk not in held}
    unblocked = {pk: draws[pk] for pk, shortage in shortages.items() if shortage is None}
    counted = held | side_by_side(budget, options=unblocked)
    return [
        _state_of(
            device,
            rows=rows,
            holders=holders[device.pk],
            shortage=shortages.get(device.pk),
            counts=device.pk in counted,
        )
        for device in devices
    ]


def _state_of(
    device: Device,
    *,
    rows: DeviceRows,
    holders: tuple[Holder, ...],
    shortage: Shortage | None,
    counts: bool,
) -> DeviceState:
    taints = _taints(device, rows)
    state, reason = State.FREE, ""
    if any(not holder.admin_access for holder in holders):
        state = State.HELD
    elif reason := _unavailable_because(device, rows=rows, shortage=shortage):
        state = State.UNAVAILABLE
    elif reason := ", ".join(str(taint) for taint in taints if taint.keeps_off):
        state = State.TAINTED
    return DeviceState(
        device=device,
        state=state,
        holders=holders,
        taints=taints,
        reason=reason,
        is_blocked=shortage is not None,
        counts=counts,
    )


def _unavailable_because(device: Device, *, rows: DeviceRows, shortage: Shortage | None) -> str:
    pool = rows.pools.get((device.driver, device.pool))
    if pool is not None and not pool.is_complete:
        return f"pool is being updated: {pool.slices_seen} of {pool.slices_expected} slices seen"
    if pool is not None and pool.problem:
        return pool.problem
    if device.node_name:
        node = rows.nodes.get(device.node_name)
        if node is None:
            return f"node {device.node_name} is not in the cluster"
        if node.ready is False:
            return f"node {node.name} is not ready"
        if node.unschedulable:
            return f"node {node.name} is cordoned"
    return f"blocked by held partitions: {shortage}" if shortage else ""


def _holders(device: Device, rows: DeviceRows) -> tuple[Holder, ...]:
    return tuple(
        Holder(
            claim_uid=assignment.claim_uid,
            claim_namespace=assignment.claim_namespace,
            claim_name=assignment.claim_name,
            request=assignment.request,
            share_id=assignment.share_id,
            admin_access=assignment.admin_access,
            assigned_at=assignment.assigned_at,
        )
        for assignment in rows.assignments.get(_key(device), ())
    )


def _taints(device: Device, rows: DeviceRows) -> tuple[Taint, ...]:
    published = [
        Taint(
            key=_text(taint.get("key")),
            value=_text(taint.get("value")),
            effect=_text(taint.get("effect")),
            time_added=_text(taint.get("timeAdded")),
            rule="",
        )
        for taint in device.taints
    ]
    by_rules = [
        Taint(
            key=rule.taint.key,
            value=rule.taint.value,
            effect=rule.taint.effect,
            time_added=rule.taint.time_added or "",
            rule=rule.name,
        )
        for rule in rows.taint_rules
        if taints_from([rule], device_id=DeviceId(*_key(device)))
    ]
    return (*published, *by_rules)


def _text(value: Json) -> str:
    """Take what a driver published; what is no text is its pool's problem, and none of ours."""
    return value if isinstance(value, str) else ""


def _key(device: Device) -> DeviceKey:
    return (device.driver, device.pool, device.name)
