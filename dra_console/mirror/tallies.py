"""Numbers about devices that add up: free + held + tainted + unavailable = total.

They come from `mirror.inventory` states, so pages and REST cannot disagree, and count
only devices that can exist side by side (`DeviceState.counts`). A pool that lacks slices gives
lower bounds, never round numbers.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.quantity import Quantity
from dra_console.mirror.device_rows import (
    PoolFacts,
    PoolKey,
    Published,
    read_pools,
    read_published,
)
from dra_console.mirror.inventory import DeviceState, State
from dra_console.mirror.models import Cluster
from dra_console.mirror.partitions import Draws, budget_of, draws_of


@dataclass(frozen=True, slots=True)
class Tally:
    """Devices that exist side by side, by state; the four parts are the total."""

    free: int
    held: int
    tainted: int
    unavailable: int

    @property
    def total(self) -> int:
        """Add the parts."""
        return self.free + self.held + self.tainted + self.unavailable


@dataclass(frozen=True, slots=True)
class CounterBalance:
    """How much of one shared counter is held."""

    counter_set: str
    counter: str
    total: Quantity
    held: Quantity


@dataclass(frozen=True, slots=True)
class PoolNumbers:
    """One pool's numbers; lower bounds while slices are missing."""

    driver: str
    pool: str
    node_name: str
    generation: int
    slices_seen: int
    slices_expected: int
    problem: str
    """Why no device of it can be allocated, beside missing slices; empty: nothing known."""

    tally: Tally
    counters: tuple[CounterBalance, ...]
    """As published; empty for a pool without partitions."""

    @property
    def is_lower_bound(self) -> bool:
        """Tell whether devices may exist that were not seen: show the numbers with a >= sign."""
        return self.slices_seen < self.slices_expected


def tally(states: Iterable[DeviceState]) -> Tally:
    """Count by state the devices that exist side by side."""
    number = Counter(one.state for one in states if one.counts)
    return Tally(
        free=number[State.FREE],
        held=number[State.HELD],
        tainted=number[State.TAINTED],
        unavailable=number[State.UNAVAILABLE],
    )


def pool_numbers(
    cluster: Cluster,
    *,
    states: Collection[DeviceState],
    pools: Collection[PoolKey] | None = None,
) -> list[PoolNumbers]:
    """Fold all device states of a cluster per pool, or those of some pools.

    A pool without devices counts none.

    Takes two queries beside those of `device_states`.
    """
    by_pool: dict[PoolKey, list[DeviceState]] = defaultdict(list)
    for one in states:
        by_pool[(one.device.driver, one.device.pool)].append(one)
    published = read_published(cluster, pools=pools)
    kept = _kept.get(cluster.pk, {})
    now: dict[PoolKey, tuple[_Made, PoolNumbers]] = {}
    for key, pool in read_pools(cluster, pools=pools).items():
        members = by_pool[key]
        made = _Made(pool, published.get(key), members[0] if members else None, len(members))
        before = kept.get(key)
        is_same = before is not None and before[0].is_same_as(made)
        now[key] = before if before and is_same else (made, _numbers(made, members=members))
    _kept[cluster.pk] = now if pools is None else {**kept, **now}
    return [numbers for _, numbers in now.values()]


@dataclass(frozen=True, slots=True)
class _Made:
    """What numbers were made of. The states of a pool are kept or made anew all together."""

    pool: PoolFacts
    published: Published | None
    first: DeviceState | None
    length: int

    def is_same_as(self, other: "_Made") -> bool:
        return (
            self.first is other.first
            and self.length == other.length
            and self.published is other.published
            and self.pool == other.pool
        )


_kept: Final[dict[int, dict[PoolKey, tuple[_Made, PoolNumbers]]]] = {}
"""The numbers of each pool, by cluster, while they are made of the very same states."""


def _numbers(made: _Made, *, members: list[DeviceState]) -> PoolNumbers:
    pool, published = made.pool, made.published
    return PoolNumbers(
        driver=pool.driver,
        pool=pool.name,
        node_name=pool.node_name,
        generation=pool.generation,
        slices_seen=pool.slices_seen,
        slices_expected=pool.slices_expected,
        problem=pool.problem,
        tally=tally(members),
        counters=_balances(published.counters if published else {}, members=members),
    )


def _balances(published: Draws, *, members: Iterable[DeviceState]) -> tuple[CounterBalance, ...]:
    held = [draws_of(one.device.consumes_counters) for one in members if one.state is State.HELD]
    budget = budget_of(published, draws=(), held=held)
    return tuple(
        CounterBalance(
            counter_set=counter_set,
            counter=counter,
            total=total,
            held=total - budget.left((counter_set, counter)),
        )
        for (counter_set, counter), total in published.items()
    )
