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

A pool's states are kept until something that they depend on is another, since a page asks for
those of all devices, and few have changed since the page before. So they are shared: nobody
changes them.

Numbers never add overlapping partitions. The options of one board (a whole GPU, or its
halves, or its sevenths) exclude one another, so `counts` marks a set of devices that can
exist side by side: everything held, then the largest options that the counters still
allow. `mirror.tallies` counts those alone; hence free + held + tainted + unavailable =
total, an idle board counts once, and a page draws exactly the devices with `counts`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Self

from dra_console.allocator.inventory import DeviceId, DeviceTaintRule
from dra_console.allocator.model import Json
from dra_console.allocator.world.taints import taints_from
from dra_console.mirror.device_rows import (
    DeviceKey,
    DeviceRows,
    NodeFacts,
    PoolFacts,
    PoolKey,
    Published,
    read_rows,
)
from dra_console.mirror.device_state import DeviceState, Holder, State, Taint
from dra_console.mirror.models import Cluster, Device, Pool
from dra_console.mirror.partitions import Shortage, budget_of, draws_of, side_by_side

__all__ = [
    "DeviceState",
    "Holder",
    "State",
    "Taint",
    "device_states",
    "device_states_of_pool",
    "device_states_of_pools",
    "pools_of_node",
]


def device_states(cluster: Cluster) -> list[DeviceState]:
    """Read the state of every device, in order of driver, pool and the driver's own order.

    Takes a fixed number of queries, whatever the number of devices.
    """
    return _kept.states(cluster, read_rows(cluster))


def device_states_of_pool(cluster: Cluster, *, driver: str, pool: str) -> list[DeviceState]:
    """Read the states of one pool's devices; empty for an unknown pool."""
    return device_states_of_pools(cluster, {(driver, pool)})


def device_states_of_pools(cluster: Cluster, pools: Collection[PoolKey]) -> list[DeviceState]:
    """Read the states of some pools' devices, for which all others need not be read."""
    rows = read_rows(cluster, pools=pools)
    return [state for key in rows.published for state in _fold_pool(_Inputs.of(key, rows))]


def pools_of_node(cluster: Cluster, node_name: str) -> set[PoolKey]:
    """Name the pools that have devices on a node, or are its own without any."""
    devices = Device.objects.filter(cluster=cluster, node_name=node_name).order_by()
    own = Pool.objects.filter(cluster=cluster, node_name=node_name).order_by()
    return {
        *devices.values_list("driver", "pool").distinct(),
        *own.values_list("driver", "name"),
    }


@dataclass(frozen=True, slots=True)
class _Inputs:
    """All that the states of one pool's devices depend on."""

    pool: PoolFacts | None
    published: Published
    holders: tuple[tuple[str, Holder], ...]
    nodes: tuple[NodeFacts | None, ...]
    """Those of `published.node_names`; None: not in the cluster."""

    taint_rules: tuple[DeviceTaintRule, ...]

    @classmethod
    def of(cls, key: PoolKey, rows: DeviceRows) -> Self:
        published = rows.published[key]
        return cls(
            pool=rows.pools.get(key),
            published=published,
            holders=tuple(rows.holders.get(key, ())),
            nodes=tuple(rows.nodes.get(name) for name in published.node_names),
            taint_rules=rows.taint_rules,
        )


class _KeptStates:
    """The states of each pool's devices, by cluster, while all that they depend on is equal."""

    def __init__(self) -> None:
        self._by_cluster: dict[int, dict[PoolKey, tuple[_Inputs, list[DeviceState]]]] = {}
        self._lock = Lock()

    def states(self, cluster: Cluster, rows: DeviceRows) -> list[DeviceState]:
        with self._lock:
            kept = self._by_cluster.get(cluster.pk, {})
        now: dict[PoolKey, tuple[_Inputs, list[DeviceState]]] = {}
        for key in rows.published:
            inputs = _Inputs.of(key, rows)
            before = kept.get(key)
            is_same = before is not None and before[0] == inputs
            now[key] = before if before and is_same else (inputs, _fold_pool(inputs))
        with self._lock:
            self._by_cluster[cluster.pk] = now
        return [state for _, states in now.values() for state in states]


_kept: Final = _KeptStates()


def _fold_pool(inputs: _Inputs) -> list[DeviceState]:
    devices = inputs.published.devices
    by_device: dict[str, list[Holder]] = defaultdict(list)
    for name, holder in inputs.holders:
        by_device[name].append(holder)
    nodes = dict(zip(inputs.published.node_names, inputs.nodes, strict=True))
    draws = {device.pk: draws_of(device.consumes_counters) for device in devices}
    holders = {device.pk: tuple(by_device.get(device.name, ())) for device in devices}
    held = {pk for pk, claims in holders.items() if any(not one.admin_access for one in claims)}
    budget = budget_of(
        inputs.published.counters,
        draws=draws.values(),
        held=[draws[device.pk] for device in devices if device.pk in held],
    )
    shortages = {pk: budget.shortage(drawn) for pk, drawn in draws.items() if pk not in held}
    unblocked = {pk: draws[pk] for pk, shortage in shortages.items() if shortage is None}
    counted = held | side_by_side(budget, options=unblocked)
    return [
        _state_of(
            device,
            inputs=inputs,
            node=nodes.get(device.node_name),
            holders=holders[device.pk],
            shortage=shortages.get(device.pk),
            counts=device.pk in counted,
        )
        for device in devices
    ]


def _state_of(  # noqa: PLR0913 - what one device's state depends on
    device: Device,
    *,
    inputs: _Inputs,
    node: NodeFacts | None,
    holders: tuple[Holder, ...],
    shortage: Shortage | None,
    counts: bool,
) -> DeviceState:
    taints = _taints(device, inputs.taint_rules)
    state, reason = State.FREE, ""
    if any(not holder.admin_access for holder in holders):
        state = State.HELD
    elif reason := _unavailable_because(device, pool=inputs.pool, node=node, shortage=shortage):
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


def _unavailable_because(
    device: Device, *, pool: PoolFacts | None, node: NodeFacts | None, shortage: Shortage | None
) -> str:
    if pool is not None and not pool.is_complete:
        return f"pool is being updated: {pool.slices_seen} of {pool.slices_expected} slices seen"
    if pool is not None and pool.problem:
        return pool.problem
    if device.node_name:
        if node is None:
            return f"node {device.node_name} is not in the cluster"
        if node.ready is False:
            return f"node {node.name} is not ready"
        if node.unschedulable:
            return f"node {node.name} is cordoned"
    return f"blocked by held partitions: {shortage}" if shortage else ""


def _taints(device: Device, rules: Iterable[DeviceTaintRule]) -> tuple[Taint, ...]:
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
        for rule in rules
        if taints_from([rule], device_id=DeviceId(*_key(device)))
    ]
    return (*published, *by_rules)


def _text(value: Json) -> str:
    """Take what a driver published; what is no text is its pool's problem, and none of ours."""
    return value if isinstance(value, str) else ""


def _key(device: Device) -> DeviceKey:
    return (device.driver, device.pool, device.name)
