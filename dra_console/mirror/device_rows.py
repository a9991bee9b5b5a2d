"""The mirror rows that together say what state devices are in, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from django.db.models import Q

from dra_console.allocator import inventory
from dra_console.allocator.decoding.decode import decode_taint_rule
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.mirror.models import (
    Cluster,
    Device,
    DeviceAssignment,
    DeviceTaintRule,
    Node,
    Pool,
    ResourceSlice,
)
from dra_console.mirror.partitions import Counter, Draws, published_in

DeviceKey: TypeAlias = tuple[str, str, str]
"""Driver, pool, device."""

PoolKey: TypeAlias = tuple[str, str]
"""Driver, pool."""


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Devices, and everything that bears on their state."""

    devices: list[Device]
    """In order of driver, pool and the driver's own order."""

    assignments: Mapping[DeviceKey, list[DeviceAssignment]]
    """Open ones, oldest first."""

    pools: Mapping[PoolKey, Pool]
    counters: Mapping[PoolKey, Draws]
    nodes: Mapping[str, Node]
    """By name, without `raw`."""

    taint_rules: tuple[inventory.DeviceTaintRule, ...]


def read_rows(cluster: Cluster, *, pool: PoolKey | None = None) -> DeviceRows:
    """Read the rows of a whole cluster, or of one pool of it, in six queries."""
    within = Q(cluster=cluster)
    if pool is not None:
        within &= Q(driver=pool[0], pool=pool[1])
    assignments: dict[DeviceKey, list[DeviceAssignment]] = defaultdict(list)
    open_assignments = DeviceAssignment.objects.filter(within, released_at=None)
    for assignment in open_assignments.order_by("assigned_at", "pk"):
        key = (assignment.driver, assignment.pool, assignment.device)
        assignments[key].append(assignment)
    pools = read_pools(cluster, pool=pool)
    nodes = Node.objects.filter(cluster=cluster).defer("raw")
    rules = DeviceTaintRule.objects.filter(cluster=cluster)
    return DeviceRows(
        devices=list(Device.objects.filter(within)),
        assignments=assignments,
        pools=pools,
        counters=read_counters(cluster, pools=pools.values()),
        nodes={node.name: node for node in nodes},
        taint_rules=tuple(_decoded(rule.raw for rule in rules)),
    )


def _decoded(rules: Iterable[JsonObject]) -> Iterator[inventory.DeviceTaintRule]:
    """Decode rules; one that cannot be read taints nothing, as it does for the allocator."""
    for rule in rules:
        with suppress(DecodeError):
            yield decode_taint_rule(rule)


def read_pools(cluster: Cluster, *, pool: PoolKey | None = None) -> dict[PoolKey, Pool]:
    """Read the pools of a cluster, or one of them, by driver and name."""
    rows = Pool.objects.filter(cluster=cluster)
    if pool is not None:
        rows = rows.filter(driver=pool[0], name=pool[1])
    return {(row.driver, row.name): row for row in rows}


def read_counters(cluster: Cluster, *, pools: Iterable[Pool]) -> dict[PoolKey, Draws]:
    """Read the counters that pools publish in their newest generation."""
    generations = {(pool.driver, pool.name): pool.generation for pool in pools}
    published: dict[PoolKey, dict[Counter, Quantity]] = defaultdict(dict)
    slices = ResourceSlice.objects.filter(
        cluster=cluster, raw__spec__sharedCounters__isnull=False
    ).values_list("driver", "pool", "pool_generation", "raw__spec__sharedCounters")
    for driver, name, generation, shared_counters in slices:
        if generations.get((driver, name)) == generation:
            published[(driver, name)] |= published_in(shared_counters)
    return dict(published)
