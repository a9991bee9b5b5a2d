"""What a search that fails a lot need not try.

- Equal devices are tried once. When one failed at some point, another that differs in nothing
  that this call can see fails there too. Of equal devices the first is still the one taken.
- A branch that leaves too few devices for what is still asked is left at once (`shortfall`).
- A situation that failed before fails again: the same request to serve, with the same kinds of
  devices taken and the same values under the claim's constraints.

None of this changes an answer: all of it is about branches without a solution, and a branch
in which broken input could be found is never judged. A search that meets few failures pays
nothing for it.
"""

from collections import Counter as Tally
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.looks import Looks
from dra_console.allocator.search.shortfall import Shortfall
from dra_console.allocator.search.state import SearchState
from dra_console.allocator.world.pools import PublishedDevice

FAILURES_BEFORE: Final = 16
"""Failures that are taken in stride."""


class Situation(NamedTuple):
    """A request about to be served, and all that its success depends on."""

    claim: int
    request: int
    size: int
    """Devices that the claim has so far."""

    taken: frozenset[tuple[Hashable, int]]
    """Kinds of the devices that are taken, and how many of each."""

    constraints: tuple[Hashable, ...]
    """What the claim's constraints hold the next device to."""


@dataclass(slots=True)
class Pruning:
    """What is known about the failures of one search."""

    looks: Looks
    state: SearchState
    shortfall: Shortfall
    is_on: bool = False
    _failures: int = 0
    _dead_ends: set[Situation] = field(default_factory=set)

    def count_failure(self) -> bool:
        """Take note of a failure, and tell whether it turned pruning on."""
        self._failures += 1
        self.is_on = self._failures > FAILURES_BEFORE
        return self.is_on

    def kind(self, place: int) -> Hashable:
        """Name the kind of a device as it is now; of one kind, none is better."""
        published = self.looks.devices[place]
        kind = self.looks.kinds[place]
        return self._taken_kind(kind, published) if self.state.picked.get(published) else kind

    def _taken_kind(self, kind: int, published: PublishedDevice) -> Hashable:
        owners: Hashable = None
        if self.looks.has_admin_access:
            owners = self.state.owners_of(published)
        return kind, self.state.booked_now(published), owners

    def situation(self, claim: int, request: int) -> Situation:
        """Describe the situation in which a request is about to be served."""
        kinds = self.looks.kinds
        places = self.looks.places
        taken = Tally(
            self._taken_kind(kinds[places[published]], published)
            for published, owners in self.state.picked.items()
            if owners
        )
        return Situation(
            claim,
            request,
            self.state.sizes[claim],
            frozenset(taken.items()),
            tuple(_held_to(state) for state in self.state.states[claim]),
        )

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
        return self.shortfall.is_certain_of(ask, claim=claim, start=start, needed=needed)


def _held_to(state: ConstraintState) -> Hashable:
    """Name what the constraint holds further devices to."""
    if not state.is_match:
        return frozenset(state.common if state.has_lists else state.values)
    return tuple(state.common[-1:] if state.has_lists else state.values[:1])
