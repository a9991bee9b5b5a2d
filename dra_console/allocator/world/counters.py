"""Bookkeeping of shared counters while a search tries devices.

Partitions of one board draw on counters that the whole pool shares (KEP-4815,
"partitionable devices"). The search takes and gives back in strict last-in-first-out
order, so a ledger is a plain running balance: no copy of the pool's state is made per step.
Balances are billionths of the counter's unit, as in `Quantity.nanos`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from dra_console.allocator.inventory import CounterSet, Device
from dra_console.allocator.quantity import Quantity

Counter: TypeAlias = tuple[str, str]
"""Counter set and counter within it, as in `("gpu-0", "memory")`."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What one device takes from one counter, in the counter's own unit."""

    counter: Counter
    amount: Quantity


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first counter that has too little left for a device."""

    counter: Counter
    missing: Quantity

    def __str__(self) -> str:
        counter_set, name = self.counter
        return f"counter {name} of {counter_set} is short by {self.missing}"


def draws_of(device: Device) -> tuple[Draw, ...]:
    """List what a device takes while it is allocated; each counter once."""
    sums: dict[Counter, Quantity] = {}
    for consumed in device.consumes_counters:
        for name, amount in consumed.counters.items():
            counter = (consumed.name, name)
            sums[counter] = sums[counter] + amount if counter in sums else amount
    return tuple(Draw(counter, amount) for counter, amount in sums.items())


def totals_of(counter_sets: Iterable[CounterSet]) -> Mapping[Counter, Quantity]:
    """List what a pool publishes."""
    return {
        (counter_set.name, name): amount
        for counter_set in counter_sets
        for name, amount in counter_set.counters.items()
    }


@dataclass(slots=True)
class CounterLedger:
    """Free balance of every counter of one pool, in nanos.

    Invariant: `take` never makes a balance negative, and `give_back` after `take` of the
    same draws restores the ledger exactly. A balance can be negative from the start, if
    more was allocated than the pool publishes now. `overdrawn` then names such a counter,
    unless the quirk `overdrawn_counter_blocks_pool` is off: the pool gives nothing more,
    from any counter.
    """

    free: dict[Counter, int]
    overdrawn: Counter | None = None

    @classmethod
    def of(
        cls,
        totals: Mapping[Counter, Quantity],
        *,
        taken: Iterable[Draw],
        is_blocked_by_overdraft: bool = True,
    ) -> Self:
        """Start from what the pool publishes less what allocated devices draw."""
        free = {counter: amount.nanos for counter, amount in totals.items()}
        for draw in taken:
            if draw.counter in free:
                free[draw.counter] -= draw.amount.nanos
        overdrawn = (counter for counter, left in free.items() if left < 0)
        return cls(free, next(overdrawn, None) if is_blocked_by_overdraft else None)

    def take(self, draws: Sequence[Draw]) -> bool:
        """Take all draws or none; tell whether they fitted. No two are of one counter.

        A draw on a counter that the pool does not declare never fits: the slice is
        inconsistent, and the device cannot be allocated from it.
        """
        if not self.fits(draws):
            return False
        for draw in draws:
            self.free[draw.counter] -= draw.amount.nanos
        return True

    def fits(self, draws: Sequence[Draw]) -> bool:
        """Tell whether `take` would take the draws."""
        if self.overdrawn is not None and draws:
            return False
        free = self.free
        for draw in draws:
            left = free.get(draw.counter)
            if left is None or left < draw.amount.nanos:
                return False
        return True

    def give_back(self, draws: Iterable[Draw]) -> None:
        """Undo the `take` of the same draws."""
        for draw in draws:
            self.free[draw.counter] += draw.amount.nanos

    def shortage(self, draws: Sequence[Draw]) -> Shortage | None:
        """Tell which counter is too low for the draws, and by how much."""
        for draw in draws:
            left = self.free.get(draw.counter, 0)
            if left < draw.amount.nanos or draw.counter not in self.free:
                return Shortage(
                    draw.counter, Quantity(draw.amount.nanos - left, draw.amount.family)
                )
        if self.overdrawn is not None and draws:
            return Shortage(self.overdrawn, Quantity(-self.free[self.overdrawn]))
        return None
