"""What picks draw on counters, and which devices may draw on a set beside each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.groups import GroupsOfSets, groups_in_use, joined
from dra_console.allocator.world.pools import NodePool, PublishedDevice
from dra_console.allocator.world.usage import Usage


class Refusal(StrEnum):
    """Why a device that matches cannot be picked now."""

    IN_USE = "in use"
    NEVER = "taint or feature gate"
    GROUPS = "compatibility groups"
    COUNTERS = "counters"
    CONSTRAINT = "constraint"
    CAPACITY = "capacity"


@dataclass(slots=True)
class Drawn:
    """What one pick drew, and what the groups of its pool were before."""

    published: PublishedDevice
    groups_before: GroupsOfSets | None


@dataclass(slots=True)
class Drawing:
    """Counters and groups of all pools of a node, each set up when first drawn on."""

    pools: Mapping[PoolId, NodePool]
    usage: Usage
    rules: Rules
    _ledgers: dict[PoolId, CounterLedger] = field(default_factory=dict)
    _groups: dict[PoolId, GroupsOfSets] = field(default_factory=dict)

    def draw(self, published: PublishedDevice) -> Drawn | Refusal:
        """Draw what a device needs, or nothing and say what stands against it."""
        pool_id = published.id.pool_id
        before = after = None
        if Feature.COMPATIBILITY_GROUPS in self.rules.features:
            before = self._groups_of(pool_id)
            after = joined(before, published.device.consumes_counters)
            if after is None:
                return Refusal.GROUPS
        if not self.ledger(pool_id).take(published.draws):
            return Refusal.COUNTERS
        if after is not None:
            self._groups[pool_id] = after
        return Drawn(published, before)

    def undo(self, drawn: Drawn | None) -> None:
        """Give back what was drawn last."""
        if drawn is None:
            return
        pool_id = drawn.published.id.pool_id
        self.ledger(pool_id).give_back(drawn.published.draws)
        if drawn.groups_before is not None:
            self._groups[pool_id] = drawn.groups_before

    def ledger(self, pool_id: PoolId) -> CounterLedger:
        """Return a pool's counters, less what this call and others draw."""
        known = self._ledgers.get(pool_id)
        if known is None:
            known = ledger_of(self.pools[pool_id], usage=self.usage, rules=self.rules)
            self._ledgers[pool_id] = known
        return known

    def counters_left(self, counter_name: str) -> int:
        """Sum up what is left in counters of a name, in all pools, in nanos."""
        return sum(
            max(left, 0)
            for pool_id, pool in self.pools.items()
            if pool.counters
            for (_, name), left in self.ledger(pool_id).free.items()
            if name == counter_name
        )

    def _groups_of(self, pool_id: PoolId) -> GroupsOfSets:
        known = self._groups.get(pool_id)
        if known is None:
            # Where stored devices do not go together the order counts: the node's come first.
            pool = self.pools[pool_id]
            known = self._groups[pool_id] = groups_in_use(
                published.device.consumes_counters
                for published in dict.fromkeys((*pool.devices, *pool.all_devices))
                if published.draws and self.usage.is_drawn(published.id)
            )
        return known


def ledger_of(pool: NodePool, *, usage: Usage, rules: Rules = DEFAULT_RULES) -> CounterLedger:
    """Charge a pool's counters with the devices that are in use, on all nodes."""
    return CounterLedger.of(
        pool.counters,
        taken=(
            draw
            for published in pool.all_devices
            if published.draws and usage.is_drawn(published.id)
            for draw in published.draws
        ),
        is_blocked_by_overdraft=rules.quirks.overdrawn_counter_blocks_pool,
    )
