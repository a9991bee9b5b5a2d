"""Whether each request that is still to be served can have devices of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dra_console.allocator.search.asks import Ask, PreparedRequest
from dra_console.allocator.search.bounds import permitted, serves_all, union_of
from dra_console.allocator.search.looks import Looks, Places, places_in
from dra_console.allocator.search.state import SearchState


class Wanted(NamedTuple):
    """A request that is still to be served, with what its constraints leave of the devices."""

    number: int
    asks: Sequence[Ask]
    places: Places


@dataclass(frozen=True, slots=True)
class Serving:
    """Matches requests with devices, by where these stand."""

    looks: Looks
    state: SearchState

    def wanted(self, request: PreparedRequest, free: Places) -> Wanted:
        """Say what a request needs at least, whichever alternative serves it."""
        if any(ask.wish.admin_access for ask in request.asks):
            return Wanted(0, (), 0)
        places = 0
        for ask in request.asks:
            sight = self.looks.sight(ask)
            found = sight.places & free
            for state, values in zip(self.state.covering[ask], sight.values, strict=True):
                found &= permitted(state, values)
            places |= found
        number = min(0 if ask.takes_all else ask.wish.count for ask in request.asks)
        return Wanted(number, request.asks, places)

    def serves(self, wanted: Sequence[Wanted], free: Places) -> bool:
        """Tell whether everything can have devices, each its own but for shareable ones."""
        used = union_of(each.places for each in wanted)
        if not used & self.looks.shareable:
            return serves_all([(each.number, each.places) for each in wanted], free=free & used)
        return self._serves_shares(wanted, used & free)

    def _serves_shares(self, wanted: Sequence[Wanted], free: Places) -> bool:
        """Count a shareable device as so many devices as it has room for shares.

        They stand behind all real devices.
        """
        shareable = self.looks.shareable
        places = [each.places & ~shareable for each in wanted]
        total = sum(each.number for each in wanted)
        offset = len(self.looks.devices)
        real = free & ~shareable
        for place in places_in(free & shareable):
            users = [at for at, each in enumerate(wanted) if each.places >> place & 1]
            shares = self._shares(place, [ask for at in users for ask in wanted[at].asks], total)
            room = ((1 << shares) - 1) << offset
            offset += shares
            real |= room
            for at in users:
                places[at] |= room
        counts = (each.number for each in wanted)
        return serves_all([*zip(counts, places, strict=True)], free=real)

    def _shares(self, place: int, asks: Sequence[Ask], most: int) -> int:
        """Bound the number of shares that a device has room for."""
        wanted = [self.looks.sight(ask).amounts.get(place) for ask in asks]
        least: dict[str, int] = {}
        for amounts in wanted:
            for name, amount in (amounts or {}).items():
                least[name] = min(amount.nanos, least.get(name, amount.nanos))
        left = self.state.capacity_left(self.looks.devices[place])
        return max(0, min([most, *(left[name] // each for name, each in least.items() if each)]))
