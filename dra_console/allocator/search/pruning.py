"""What a search that fails a lot need not try.

- Equal devices are tried once. When one failed at some point, another that differs in nothing
  that this call can see fails there too. Of equal devices the first is still the one taken.
- A branch that leaves too few devices for what is still asked is left at once (`bounds`).
- A situation that failed before fails again: the same request to serve, with the same kinds of
  devices taken and the same values under the claim's constraints.

None of this changes an answer: all of it is about branches without a solution, and a branch
in which broken input could be found is never judged. A search that meets few failures pays
nothing for it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.bounds import most_together, most_under
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.looks import Look, Looks
from dra_console.allocator.search.shortfall import Shortfall
from dra_console.allocator.search.state import SearchState, Taken
from dra_console.allocator.world.pools import PublishedDevice

FAILURES_BEFORE: Final = 16
"""Failures that are taken in stride."""


class Situation(NamedTuple):
    """A request about to be served, and all that its success depends on."""

    claim: int
    request: int
    size: int
    """Devices that the claim has so far."""

    taken: tuple[Hashable, ...]
    """Kinds of the devices that are taken, sorted."""

    constraints: tuple[Hashable, ...]
    """What the claim's constraints hold the next device to."""


@dataclass(slots=True)
class Pruning:
    """What is known about the failures of one search."""

    devices: Sequence[PublishedDevice]
    looks: Looks
    state: SearchState
    shortfall: Shortfall
    is_on: bool = False
    _failures: int = 0
    _dead_ends: set[Situation] = field(default_factory=set)
    _places: dict[PublishedDevice, int] = field(default_factory=dict)

    @property
    def cost(self) -> int:
        """Steps that one look at the whole node is worth."""
        return 1 + len(self.devices) // 8

    def count_failure(self) -> None:
        """Take note of a failure; enough of them turn pruning on."""
        self._failures += 1
        self.is_on = self._failures > FAILURES_BEFORE

    def place_of(self, published: PublishedDevice) -> int:
        """Return the place of a device among all of the node."""
        if not self._places:
            self._places.update((each, place) for place, each in enumerate(self.devices))
        return self._places[published]

    def kind(self, place: int) -> Hashable:
        """Name the kind of a device as it is now; of one kind, none is better."""
        owners = self.state.picked.get(self.devices[place])
        kind = self.looks.kinds[place]
        return (kind, *sorted(owners)) if owners else kind

    def situation(self, claim: int, request: int) -> Situation:
        """Describe the situation in which a request is about to be served."""
        taken = [self._trace(each) for each in self.state.taken]
        states = self.state.states[claim]
        return Situation(
            claim,
            request,
            self.state.sizes[claim],
            tuple(sorted(taken)),
            tuple(_held_to(state) for state in states),
        )

    def _trace(self, taken: Taken) -> tuple[int, ...]:
        """Write down what a pick leaves for others, as numbers that can be sorted."""
        published = taken.pick.published
        kind = self.looks.kinds[self.place_of(published)]
        owner = (taken.claim, int(taken.pick.ask.wish.admin_access))
        amounts = (
            tuple(amount.nanos for _, amount in sorted(taken.pick.amounts.items()))
            if published.is_shareable
            else ()
        )
        return (kind, *(owner if self.looks.has_admin_access else ()), *amounts)

    def is_dead_end(self, situation: Situation) -> bool:
        """Tell whether a request cannot be served: it failed like this, or too little is left."""
        return situation in self._dead_ends or self.shortfall.is_certain(
            situation.claim, situation.request
        )

    def remember(self, situation: Situation) -> None:
        """Take note that a situation has no solution."""
        self._dead_ends.add(situation)

    def is_hopeless(self, ask: Ask, *, claim: int, start: int, needed: int) -> bool:
        """Tell whether the devices from a place on cannot be enough for the rest of an ask."""
        if not self.looks.is_clean(ask):
            return False
        covering = self.state.covering[ask]
        left: list[PublishedDevice] = []
        seen: list[Look] = []
        for published, look in zip(
            islice(self.devices, start, None), islice(self.looks.of(ask), start, None), strict=True
        ):
            if (
                isinstance(look, tuple)
                and not self.state.is_in_use(ask, published, claim=claim)
                and all(map(ConstraintState.accepts, covering, look))
            ):
                left.append(published)
                seen.append(look)
        if len(left) < needed:
            return True
        if needed == 1:
            return False
        for state, values in zip(covering, zip(*seen, strict=True), strict=True):
            if most_under(state, values) < needed:
                return True
        if any(each.is_shareable for each in left) or not self.state.draws_for(ask):
            return False
        return most_together(left, ledger_of=self.state.ledger) < needed


def _held_to(state: ConstraintState) -> Hashable:
    """Name what the constraint holds further devices to."""
    if not state.is_match:
        return frozenset(state.common if state.has_lists else state.values)
    return tuple(state.common[-1:] if state.has_lists else state.values[:1])
