"""Which partitions of a pool are blocked, and which can exist side by side.

A driver publishes every way to cut a board as a device of its own; the options draw on
counters that the pool shares (KEP-4815), so holding one rules others out. Adding them up
would count the same silicon several times. Here a pool's counters are the budget:
held devices have spent from it, a device that the rest cannot pay is blocked, and the set to count
is filled up from the largest option down, so that an idle board counts as one whole.

Pure: quantities in, keys out.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import Json
from dra_console.allocator.quantity import Quantity

Counter: TypeAlias = tuple[str, str]
"""Counter set and counter within it, as in `("gpu-0", "memory")`."""

Draws: TypeAlias = Mapping[Counter, Quantity]

NOTHING = Quantity(0)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first counter that cannot pay for a device."""

    counter: Counter
    needed: Quantity
    left: Quantity

    def __str__(self) -> str:
        counter_set, counter = self.counter
        return f"counter {counter} of {counter_set}: needs {self.needed}, {self.left} left"


@dataclass(frozen=True, slots=True)
class Budget:
    """A pool's counters: what is published, and what held devices have drawn."""

    total: Mapping[Counter, Quantity]
    held: Mapping[Counter, Quantity]

    def left(self, counter: Counter) -> Quantity:
        """Tell what is left; negative if the pool is over-committed."""
        return self.total.get(counter, NOTHING) - self.held.get(counter, NOTHING)

    def shortage(self, draws: Draws) -> Shortage | None:
        """Name what keeps a device from being allocated, as the allocator decides it.

        One over-committed counter blocks every device of the pool that draws on any.
        """
        if not draws:
            return None
        for counter in self.total:
            if self.left(counter) < NOTHING:
                return Shortage(counter, draws.get(counter, NOTHING), self.left(counter))
        for counter, needed in draws.items():
            if needed > self.left(counter):
                return Shortage(counter, needed, self.left(counter))
        return None


def draws_of(consumes_counters: Json) -> dict[Counter, Quantity]:
    """Read a device's `consumesCounters`: `[{"counterSet", "counters": {name: {"value"}}}]`.

    What is no quantity is left out here; its pool's problem tells of it.
    """
    return _amounts(consumes_counters, set_name="counterSet")


def published_in(shared_counters: Json) -> dict[Counter, Quantity]:
    """Read a slice's `sharedCounters`: `[{"name", "counters": {name: {"value"}}}]`."""
    return _amounts(shared_counters, set_name="name")


def budget_of(published: Draws, *, draws: Iterable[Draws], held: Iterable[Draws]) -> Budget:
    """Add up a pool's counters.

    A counter that is drawn on but not (yet) published, as while slices are missing, is taken to be
    as large as the largest draw on it: one whole board.
    """
    assumed: dict[Counter, Quantity] = {}
    for device_draws in draws:
        for counter, amount in device_draws.items():
            assumed[counter] = max(amount, assumed.get(counter, NOTHING))
    spent: dict[Counter, Quantity] = {}
    for device_draws in held:
        for counter, amount in device_draws.items():
            _add(spent, counter, amount)
    return Budget(total={**assumed, **published}, held=spent)


def side_by_side(budget: Budget, *, options: Mapping[int, Draws]) -> set[int]:
    """Pick keys of options that fit beside what is held and beside one another.

    The largest comes first, by its greatest share of any counter; equals in given order.
    """
    spent = dict(budget.held)
    picked: set[int] = set()
    for key, draws in sorted(options.items(), key=lambda option: -_share(budget, option[1])):
        if Budget(budget.total, spent).shortage(draws) is None:
            picked.add(key)
            for counter, amount in draws.items():
                _add(spent, counter, amount)
    return picked


def _share(budget: Budget, draws: Draws) -> Fraction:
    return max(
        (
            Fraction(amount.nanos, budget.total[counter].nanos)
            for counter, amount in draws.items()
            if counter in budget.total and budget.total[counter] > NOTHING
        ),
        default=Fraction(0),
    )


def _amounts(entries: Json, *, set_name: str) -> dict[Counter, Quantity]:
    amounts: dict[Counter, Quantity] = {}
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        counters = entry.get("counters")
        for counter, amount in counters.items() if isinstance(counters, dict) else ():
            if isinstance(amount, dict):
                key = (str(entry.get(set_name)), counter)
                with suppress(QuantityError):
                    _add(amounts, key, Quantity.parse(str(amount.get("value"))))
    return amounts


def _add(sums: dict[Counter, Quantity], counter: Counter, amount: Quantity) -> None:
    # A sum is printed like its first term (`5Gi`), so it does not begin with a bare zero.
    sums[counter] = sums[counter] + amount if counter in sums else amount
