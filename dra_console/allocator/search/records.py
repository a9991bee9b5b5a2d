"""What is known of one node, and of how the devices that it sees are used.

The use of a pool is a small value that is equal if and only if a search could not tell two
nodes of one shape apart by it: the bits of the devices that are held, the amounts that are
booked on shared ones, and what is drawn by devices that only other nodes see.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from dra_console.allocator.inventory import DeviceId, Node, NodeSelector, PoolId
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.kinds import CommonKinds, capacities_of
from dra_console.allocator.world.nodes import selector_for
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice
from dra_console.allocator.world.usage import Usage

PoolUse: TypeAlias = Hashable
"""An `int` of held devices, bit N for device N of the pool, if there is nothing else."""
Use: TypeAlias = tuple[PoolUse, ...]
"""Of all pools that are ready, in order."""


@dataclass(slots=True, eq=False)
class Record:
    """A node with the pools that it sees. `ready` are those that devices can come from."""

    node: Node
    ready: tuple[NodePool, ...]
    has_counters: bool
    invalid: tuple[tuple[PoolId, str], ...]
    _devices: tuple[PublishedDevice, ...] | None = None
    _selector: NodeSelector | None = None

    @classmethod
    def of(cls, node: Node, pools: Iterable[NodePool]) -> "Record":
        """Sort out the pools of a node, given in first-fit order."""
        ready = tuple(pool for pool in pools if pool.status is PoolStatus.READY)
        return cls(
            node,
            ready,
            has_counters=any(pool.counters for pool in ready),
            invalid=tuple(
                (pool.id, pool.problem) for pool in pools if pool.status is PoolStatus.INVALID
            ),
        )

    @property
    def devices(self) -> tuple[PublishedDevice, ...]:
        """Devices in first-fit order; positions in a solution count them."""
        if self._devices is None:
            self._devices = (
                self.ready[0].devices
                if len(self.ready) == 1
                else tuple(device for pool in self.ready for device in pool.devices)
            )
        return self._devices

    @property
    def selector(self) -> NodeSelector:
        """Selects this node alone."""
        if self._selector is None:
            self._selector = selector_for(self.node.name)
        return self._selector


class Uses:
    """How the devices of pools are used; kept until a device of the pool changes hands."""

    __slots__ = ("_common", "_is_used", "_kept", "_usage")

    def __init__(
        self,
        usage: Usage,
        *,
        common: CommonKinds,
        is_used: Callable[[PoolId], bool] | None = None,
    ) -> None:
        """Take usage; `is_used` tells of pools whether any device is, if somebody keeps count."""
        self._usage: Final = usage
        self._is_used: Final = is_used or _pools_in(usage).__contains__
        self._common: Final = common
        self._kept: Final[dict[NodePool, PoolUse]] = {}

    def on(self, record: Record) -> Use:
        """Tell how all devices of a node are used."""
        return tuple([self.of(pool) for pool in record.ready])

    def of(self, pool: NodePool) -> PoolUse:
        """Tell how the devices of a pool are used that nodes see through it."""
        use = self._kept.get(pool)
        if use is None:
            use = self._kept[pool] = self._use(pool) if self._is_used(pool.id) else 0
        return use

    def forget(self, pool: NodePool) -> None:
        """Look again when the pool is asked for next."""
        self._kept.pop(pool, None)

    def changed_hands(self, pool: NodePool, device_id: DeviceId) -> None:
        """Take note that one device of the pool is held, or shared, otherwise than before."""
        known = self._kept.get(pool)
        if known is None:
            return
        if isinstance(known, int) and device_id not in self._usage.booked and not pool.counters:
            is_held = device_id in self._usage.holders
            for at, published in enumerate(pool.devices):
                if published.id == device_id:
                    self._kept[pool] = known | 1 << at if is_held else known & ~(1 << at)
                    return
        del self._kept[pool]

    def _use(self, pool: NodePool) -> PoolUse:
        holders = self._usage.holders
        held = 0
        for at, published in enumerate(pool.devices):
            if published.id in holders:
                held |= 1 << at
        shares = self._shares(pool) if self._usage.booked else ()
        drawn = self._drawn_elsewhere(pool) if pool.counters else ()
        return (held, shares, drawn) if shares or drawn else held

    def _shares(self, pool: NodePool) -> tuple[Hashable, ...]:
        booked = self._usage.booked
        return tuple(
            (
                at,
                tuple(
                    (name, amount.nanos)
                    for name, amount in sorted(booked[published.id].items(), key=_name)
                    if amount
                ),
                None
                if published.device.allow_multiple_allocations
                else capacities_of(published.device),
            )
            for at, published in enumerate(pool.devices)
            if published.id in booked
        )

    def _drawn_elsewhere(self, pool: NodePool) -> tuple[int, ...]:
        """Tell what is drawn from the pool's counters by devices that these nodes do not see."""
        seen = frozenset(pool.devices)
        is_drawn = self._usage.is_drawn
        return tuple(
            sorted(
                self._common.of(published.device, published.slice)
                for published in pool.all_devices
                if published.draws and published not in seen and is_drawn(published.id)
            )
        )


def _name(entry: tuple[str, Quantity]) -> str:
    return entry[0]


def _pools_in(usage: Usage) -> frozenset[PoolId]:
    return frozenset(each.pool_id for each in (*usage.holders, *usage.booked))
