"""Whether what is free can be enough for all requests that are still to be served.

Counters, and all constraints but `matchAttribute` of the claim at hand, are left out of
account, so the answer is certain one way only: "too little" is true, "enough" is a maybe.
"""

from collections import Counter as Tally
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dra_console.allocator.search.asks import Ask, PreparedClaim, PreparedRequest
from dra_console.allocator.search.bounds import serves_all
from dra_console.allocator.search.constraints import ConstraintState, members_of
from dra_console.allocator.search.looks import Look, Looks
from dra_console.allocator.search.state import SearchState

PLENTY: Final = 1_000_000
"""Of a device that several requests may share."""

VALUES_TRIED: Final = 64
"""With more values to agree on, nothing is said."""

Demand: TypeAlias = tuple[int, frozenset[int]]
"""Number of devices, and the kinds that will do."""

Suits: TypeAlias = Callable[[Ask, Look], bool]


@dataclass(slots=True)
class Shortfall:
    """Compares what is free with what is still asked for."""

    claims: Sequence[PreparedClaim]
    looks: Looks
    state: SearchState

    def is_certain(self, claim: int, request: int) -> bool:
        """Tell whether the requests from this one on cannot all be served.

        Never said if something broken may be found on the way.
        """
        own = self.claims[claim].requests[request:]
        others = [each for later in self.claims[claim + 1 :] for each in later.requests]
        asks = [ask for each in (*own, *others) for ask in each.asks]
        if any(ask.takes_all for ask in asks) or not all(map(self.looks.is_clean, asks)):
            return False
        supply = self._supply()
        demanded = [self._demand(each, self._suits, supply) for each in others]
        if not serves_all([*self._demands(own, self._suits, supply), *demanded], supply):
            return True
        return any(
            not self._agrees(state, own, demanded, supply)
            for state in self.state.states[claim]
            if state.is_match and not state.values
        )

    def _supply(self) -> Mapping[int, int]:
        supply: Tally[int] = Tally()
        for place, published in enumerate(self.looks.devices):
            if published.id in self.state.usage.holders:
                continue
            if published.is_shareable:
                supply[self.looks.kinds[place]] = PLENTY
            elif not self.state.picked.get(published):
                supply[self.looks.kinds[place]] += 1
        return supply

    def _agrees(
        self,
        state: ConstraintState,
        own: Sequence[PreparedRequest],
        demanded: Sequence[Demand],
        supply: Mapping[int, int],
    ) -> bool:
        """Tell whether there is a value on which all covered requests may agree."""
        values: set[Hashable] = set()
        for ask in (ask for request in own for ask in request.asks):
            index = self._index(ask, state)
            if index is not None:
                for look in self.looks.by_kind(ask).values():
                    values |= _as_values(state, look, index)
        if not values or len(values) > VALUES_TRIED:
            return True

        def suits_with(value: Hashable) -> Suits:
            def suits(ask: Ask, look: Look) -> bool:
                index = self._index(ask, state)
                agrees = index is None or value in _as_values(state, look, index)
                return agrees and self._suits(ask, look)

            return suits

        return any(
            serves_all([*self._demands(own, suits_with(value), supply), *demanded], supply)
            for value in values
        )

    def _index(self, ask: Ask, state: ConstraintState) -> int | None:
        """Return where a look of the ask has the value that the constraint sees."""
        covering = self.state.covering[ask]
        return next((index for index, each in enumerate(covering) if each is state), None)

    def _suits(self, ask: Ask, look: Look) -> bool:
        return all(map(ConstraintState.accepts, self.state.covering[ask], look))

    def _demands(
        self, requests: Iterable[PreparedRequest], suits: Suits, supply: Mapping[int, int]
    ) -> Iterator[Demand]:
        return (self._demand(each, suits, supply) for each in requests)

    def _demand(self, request: PreparedRequest, suits: Suits, supply: Mapping[int, int]) -> Demand:
        """Say what a request needs at least, whichever alternative serves it."""
        if any(ask.wish.admin_access for ask in request.asks):
            return 0, frozenset()
        kinds = frozenset(
            kind
            for ask in request.asks
            for kind, look in self.looks.by_kind(ask).items()
            if kind in supply and suits(ask, look)
        )
        return min(ask.wish.count for ask in request.asks), kinds


def _as_values(state: ConstraintState, look: Look, index: int) -> frozenset[Hashable]:
    value = look[index]
    if value is None:
        return frozenset()
    return members_of(value) if state.has_lists else frozenset((value,))
