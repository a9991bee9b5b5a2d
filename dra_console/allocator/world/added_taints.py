"""Taints that DeviceTaintRules add, kept apart from what drivers publish.

Slices and pools are as they are whatever the rules say, so all that is known of them outlives a
change of a rule. Whoever wants to know whether a device is tainted asks here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.inventory import DeviceId, DeviceTaintRule, Taint
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.world.published import PublishedDevice
from dra_console.allocator.world.taints import taints_from


@dataclass(frozen=True, slots=True, eq=False)
class PoolRules:
    """The rules that may be about devices of some pools, in their order; compared by identity."""

    rules: tuple[DeviceTaintRule, ...]
    are_alike_for_all: bool
    """Whether none of them names a device, so that all devices get the same taints."""


NO_RULES: Final = PoolRules((), are_alike_for_all=True)


class AddedTaints:
    """What some rules add to devices, in the order of the rules."""

    __slots__ = ("_alike", "_anywhere", "_in_pool", "_known", "rules")

    def __init__(self, rules: Iterable[DeviceTaintRule] = ()) -> None:
        self.rules: Final = tuple(rules)
        self._anywhere: Final[list[int]] = []
        """Positions of rules that name no pool."""
        self._in_pool: Final[dict[str, list[int]]] = {}
        """Of the others, by the name of the pool."""
        for at, rule in enumerate(self.rules):
            if rule.selects_nothing:
                continue
            if rule.pool is None:
                self._anywhere.append(at)
            else:
                self._in_pool.setdefault(rule.pool, []).append(at)
        self._known: Final[dict[tuple[str, str], PoolRules]] = {}
        self._alike: Final[dict[tuple[int, ...], PoolRules]] = {}

    def in_pool(self, driver: str, pool: str) -> PoolRules:
        """Return the rules for one pool; the same object for pools of which the same is said."""
        if not self.rules:
            return NO_RULES
        known = self._known.get((driver, pool))
        if known is None:
            known = self._known[driver, pool] = self._find(driver, pool)
        return known

    def on(self, device_id: DeviceId) -> tuple[Taint, ...]:
        """List what is added to a device."""
        if not self.rules:
            return ()
        return taints_from(
            self.in_pool(device_id.driver, device_id.pool).rules, device_id=device_id
        )

    def beside_own(self, published: PublishedDevice) -> tuple[Taint, ...]:
        """List a device's own taints, then those that are added."""
        return (*published.taints, *self.on(published.id)) if self.rules else published.taints

    def _find(self, driver: str, pool: str) -> PoolRules:
        own = self._in_pool.get(pool)
        positions = sorted((*self._anywhere, *own)) if own else self._anywhere
        positions = [at for at in positions if self.rules[at].driver in {None, driver}]
        if not positions:
            return NO_RULES
        found = tuple(self.rules[at] for at in positions)
        return self._alike.setdefault(
            tuple(positions),
            PoolRules(found, are_alike_for_all=all(rule.device is None for rule in found)),
        )


def added_taints(taint_rules: Iterable[DeviceTaintRule], *, rules: Rules) -> AddedTaints:
    """Take the rules of a cluster; without their feature gate nobody looks at them."""
    return AddedTaints(taint_rules if rules.has(Feature.DEVICE_TAINTS) else ())
