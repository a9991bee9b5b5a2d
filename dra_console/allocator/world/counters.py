"""Bookkeeping of shared counters while a search tries devices.

Partitions of one board draw on counters that the whole pool shares (KEP-4815,
"partitionable devices"). The search takes and gives back in strict last-in-first-out
order, so a ledger is a plain running balance: no copy of the pool's state is made per step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

from dra_console.allocator.inventory import CounterSet, Device
from dra_console.allocator.quantity import Quantity

Counter: TypeAlias = tuple[str, str]
"""Counter set and counter within it, as in `("gpu-0", "memory")`."""

NOTHING = Quantity(0)


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
    """List what a device takes while it is allocated."""
    return tuple(
        Draw((consumed.name, name), amount)
        for consumed in device.consumes_counters
        for name, amount in consumed.counters.items()
    )


def totals_of(counter_sets: Iterable[CounterSet]) -> Mapping[Counter, Quantity]:
    """List what a pool publishes."""
    return {
        (counter_set.name, name): amount
        for counter_set in counter_sets
        for name, amount in counter_set.counters.items()
    }


@dataclass(slots=True)
class CounterLedger:
    """Free balance of every counter of one pool.

    Invariant: `take` never makes a balance negative, and `give_back` after `take` of the
    same draws restores the ledger exactly. A balance can be negative from the start, if
    more was allocated than the pool publishes now; such a pool gives nothing more, from
    any counter, as upstream has it.
    """

    free: dict[Counter, Quantity]

    @classmethod
    def of(cls, totals: Mapping[Counter, Quantity], *, taken: Iterable[Draw]) -> Self:
        """Start from what the pool publishes less what allocated devices draw."""
        free = dict(totals)
        for draw in taken:
            free[draw.counter] = free.get(draw.counter, NOTHING) - draw.amount
        return cls(free)

    def take(self, draws: Iterable[Draw]) -> bool:
        """Take all draws or none; tell whether they fitted.

        A draw on a counter that the pool does not declare never fits: the slice is
        inconsistent, and the device cannot be allocated from it.
        """
        wanted = _summed(draws)
        if self._shortage(wanted) is not None:
            return False
        for counter, amount in wanted.items():
            self.free[counter] -= amount
        return True

    def give_back(self, draws: Iterable[Draw]) -> None:
        """Undo the `take` of the same draws."""
        for draw in draws:
            self.free[draw.counter] += draw.amount

    def shortage(self, draws: Iterable[Draw]) -> Shortage | None:
        """Tell which counter is too low for the draws, and by how much."""
        return self._shortage(_summed(draws))

    def _shortage(self, wanted: Mapping[Counter, Quantity]) -> Shortage | None:
        if not wanted:
            return None
        for counter, amount in wanted.items():
            left = self.free.get(counter, NOTHING)
            if left < amount:
                return Shortage(counter, amount - left)
        for counter, left in self.free.items():
            if left < NOTHING:
                return Shortage(counter, NOTHING - left)
        return None


def _summed(draws: Iterable[Draw]) -> dict[Counter, Quantity]:
    wanted: dict[Counter, Quantity] = {}
    for draw in draws:
        known = wanted.get(draw.counter)
        wanted[draw.counter] = draw.amount if known is None else known + draw.amount
    return wanted
