"""Whether what is free can be enough for what is still to be served.

Only some of what can stand against a device is taken into account, so the answer is certain
one way only: "too little" is true, "enough" is a maybe. Nothing is said where something broken
may be found on the way: an expression that fails, or mode All under a constraint.
"""

from collections import Counter as Tally
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.search.asks import Ask, PreparedClaim, PreparedRequest
from dra_console.allocator.search.bounds import (
    EVERYWHERE,
    most_together,
    most_under,
    permitted,
    union_of,
)
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.looks import Looks, Places, places_in
from dra_console.allocator.search.serving import Serving, Wanted
from dra_console.allocator.search.state import SearchState

NO_VALUE: Final = "no covered device"
"""What requests agree on whose alternatives are not covered by a constraint."""

VALUES_TRIED: Final = 64
"""With more values to agree on, nothing is said."""


@dataclass(slots=True)
class Shortfall:
    """Compares what is free with what is still asked for."""

    claims: Sequence[PreparedClaim]
    looks: Looks
    state: SearchState
    serving: Serving = field(init=False)
    _judged_from: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Look at the same devices."""
        self.serving = Serving(self.looks, self.state)

    def is_certain(self, claim: int, request: int) -> bool:
        """Tell whether the requests from this one on cannot all be served."""
        if not self.is_judged(claim, request):
            return False
        own = self.claims[claim].requests[request:]
        others = [each for later in self.claims[claim + 1 :] for each in later.requests]
        free = self._free()
        own_wanted = [self.serving.wanted(each, free) for each in own]
        wanted = [*own_wanted, *(self.serving.wanted(each, free) for each in others)]
        return (
            not self.serving.serves(wanted, free)
            or self._lacks_counters(wanted)
            or self._disagrees(self.state.states[claim], own_wanted, wanted[len(own) :], free)
        )

    def is_certain_of(self, ask: Ask, *, claim: int, start: int, needed: int) -> bool:
        """Tell whether the devices from a place on cannot be enough for the rest of an ask."""
        sight = self.looks.sight(ask)
        if not sight.is_clean:
            return False
        left = sight.places & self._free(ask, claim=claim) & (EVERYWHERE << start)
        covering = self.state.covering[ask]
        for state, values in zip(covering, sight.values, strict=True):
            left &= permitted(state, values)
        if left.bit_count() < needed:
            return True
        if needed == 1:
            return False
        for state, values in zip(covering, sight.values, strict=True):
            if most_under(state, values, left) < needed:
                return True
        draws = left & self.looks.drawing
        if not draws or left & self.looks.shareable or not self.state.draws_for(ask):
            return False
        return self._most_together(left) < needed

    def is_judged(self, claim: int, request: int) -> bool:
        """Tell whether anything can be said: nothing broken may be found from this request on."""
        if self._judged_from is None:
            broken = [
                (at, number + 1)
                for at, each in enumerate(self.claims)
                for number, request_ in enumerate(each.requests)
                if not self._is_clean(request_)
            ]
            self._judged_from = broken[-1] if broken else (0, 0)
        return (claim, request) >= self._judged_from

    def _is_clean(self, request: PreparedRequest) -> bool:
        return all(
            self.looks.sight(ask).is_clean and not (ask.takes_all and self.state.covering[ask])
            for ask in request.asks
        )

    def _free(self, ask: Ask | None = None, *, claim: int = -1) -> Places:
        """Return what a normal request, or one with admin access, may still pick."""
        is_admin = ask is not None and ask.wish.admin_access
        places = self.looks.places
        gone = 0
        for taken in self.state.taken:
            if taken.pick.published.is_shareable:
                continue
            if taken.claim == claim if is_admin else self._blocks(taken.pick.ask):
                gone |= 1 << places[taken.pick.published]
        return ~gone if is_admin else ~(gone | self.looks.held)

    def _blocks(self, ask: Ask) -> bool:
        return not ask.wish.admin_access or self.state.rules.quirks.admin_access_blocks

    def _lacks_counters(self, wanted: Sequence[Wanted]) -> bool:
        """Tell whether counters do not go round, by the number of devices or by their names."""
        places = union_of(each.places for each in wanted)
        if not places & self.looks.drawing or places & self.looks.shareable:
            return False
        needed: Tally[str] = Tally()
        for each in wanted:
            for name, amount in self._least(each.asks).items():
                needed[name] += each.number * amount
        if any(amount > self.state.drawing.counters_left(name) for name, amount in needed.items()):
            return True
        counts: Tally[Places] = Tally()
        for each in wanted:
            counts[each.places] += each.number
        return any(
            self._most_together(group)
            < sum(count for each, count in counts.items() if each & ~group == 0)
            for group in counts
            if group & self.looks.drawing
        )

    def _least(self, asks: Sequence[Ask]) -> Mapping[str, int]:
        """Return what any device for a request draws at least, by the counter's name."""
        if len(asks) == 1:
            return self.looks.sight(asks[0]).least
        sights = [self.looks.sight(ask).least for ask in asks]
        names = set(sights[0]).intersection(*sights[1:]) if sights else set()
        return {name: min(each[name] for each in sights) for name in names}

    def _most_together(self, places: Places) -> int:
        devices = (self.looks.devices[place] for place in places_in(places))
        return most_together(devices, ledger_of=self.state.drawing.ledger)

    def _disagrees(
        self,
        states: Sequence[ConstraintState],
        own: Sequence[Wanted],
        others: Sequence[Wanted],
        free: Places,
    ) -> bool:
        """Tell whether a constraint of the claim cannot be met by all requests that it covers."""
        for state in states:
            covered = [each for each in own if any(self._index(state, ask) for ask in each.asks)]
            if not covered:
                continue
            if not state.is_match:
                if not state.has_lists and self._lacks_values(state, covered):
                    return True
            elif not state.values and not self._agrees(state, own, others, free):
                return True
        return False

    def _index(self, state: ConstraintState, ask: Ask) -> int:
        """Return at which place, from 1, the ask has the constraint; 0 if it does not cover it."""
        covering = self.state.covering[ask]
        return next((at for at, each in enumerate(covering, 1) if each is state), 0)

    def _lacks_values(self, state: ConstraintState, covered: Sequence[Wanted]) -> bool:
        """Tell whether there are fewer values than devices that have to differ."""
        count, values = 0, set[Hashable]()
        for each in covered:
            indices = [self._index(state, ask) for ask in each.asks]
            if not all(indices):
                continue
            count += each.number
            for ask, index in zip(each.asks, indices, strict=True):
                held = self.looks.sight(ask).values[index - 1]
                values |= {value for value, places in held.items() if places & each.places}
        return len(values) < count

    def _agrees(
        self,
        state: ConstraintState,
        own: Sequence[Wanted],
        others: Sequence[Wanted],
        free: Places,
    ) -> bool:
        """Tell whether there is a value on which all covered requests may agree."""
        values: dict[Hashable, None] = {NO_VALUE: None}
        for each in own:
            for ask in each.asks:
                index = self._index(state, ask)
                if index:
                    values |= dict.fromkeys(self.looks.sight(ask).values[index - 1])
        if len(values) > VALUES_TRIED:
            return True
        return any(
            self.serving.serves([*(self._with(value, state, each) for each in own), *others], free)
            for value in values
        )

    def _with(self, value: Hashable, state: ConstraintState, wanted: Wanted) -> Wanted:
        """Leave only devices with a value to the alternatives that the constraint covers."""
        places = 0
        for ask in wanted.asks:
            sight = self.looks.sight(ask)
            index = self._index(state, ask)
            places |= sight.values[index - 1].get(value, 0) if index else sight.places
        return wanted._replace(places=wanted.places & places)
