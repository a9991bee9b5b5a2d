"""What all asks of a call make of a node's devices, found out in advance and without harm.

A search that fails a lot has to know which devices are alike and how many could serve the
requests that are still to come. Here every pair of ask and device is evaluated, but nothing
that is broken about one ends the search: that is for the search to reach or not to reach. A
device with such a pair is like no other, and an ask with such a device is never judged as
hopeless.

Sets of devices are whole numbers, with bit `n` for the device at place `n`.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from dra_console.allocator.inventory import AttributeValue
from dra_console.allocator.outcomes import BrokenInputError
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.constraints import ConstraintState, members_of
from dra_console.allocator.search.matching import NOTHING_ASKED
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.world.capacity import is_left
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.usage import Usage

Look: TypeAlias = tuple[AttributeValue | None, ...]
"""The values that the constraints on an ask see, of a device that it may get."""

Places: TypeAlias = int
"""A set of devices."""


class Fault:
    """A pair of ask and device that ends the search when it is reached."""


FAULT: Final = Fault()


@dataclass(frozen=True, slots=True)
class Sight:
    """What asks that want the same make of all devices."""

    looks: Sequence[Look | Fault | None]
    """By place; `None` for a device that they can never get."""

    is_clean: bool
    """Whether no device ends the search when they are tried on it."""

    places: Places
    """Devices that they may get."""

    values: tuple[Mapping[Hashable, Places], ...]
    """For each constraint on them: which of these devices have a value, or have it in a list."""

    least: Mapping[str, int]
    """What each of these devices draws at least from counters of a name, in nanos."""

    amounts: Mapping[int, Mapping[str, Quantity]]
    """What they would take of shareable ones of these devices, by place."""


class Looks:
    """Sights of all asks, each taken when first asked for, and the kinds that follow from them."""

    def __init__(
        self,
        asks: Sequence[Ask],
        devices: Sequence[PublishedDevice],
        standings: Standings,
        covering: Mapping[Ask, Sequence[ConstraintState]],
        usage: Usage,
    ) -> None:
        self.asks: Final = asks
        self.devices: Final = devices
        self._standings: Final = standings
        self._covering: Final = covering
        self._usage: Final = usage
        self._signatures: Final[dict[Ask, Hashable]] = {}
        self._sights: Final[dict[Hashable, Sight]] = {}

    @cached_property
    def has_admin_access(self) -> bool:
        """Tell whether it matters which claim has a device: to admin access it does."""
        return any(ask.wish.admin_access for ask in self.asks)

    @cached_property
    def places(self) -> Mapping[PublishedDevice, int]:
        """Where each device stands."""
        return {published: place for place, published in enumerate(self.devices)}

    @cached_property
    def shareable(self) -> Places:
        """Devices of which several requests may have a share."""
        return _places(place for place, each in enumerate(self.devices) if each.is_shareable)

    @cached_property
    def held(self) -> Places:
        """Devices that other claims hold."""
        holders = self._usage.holders
        return _places(place for place, each in enumerate(self.devices) if each.id in holders)

    @cached_property
    def drawing(self) -> Places:
        """Devices that draw on counters."""
        return _places(place for place, each in enumerate(self.devices) if each.draws)

    @cached_property
    def kinds(self) -> Sequence[int]:
        """Number the devices so that equal ones have equal numbers."""
        numbers: dict[Hashable, int] = {}
        asks = {self._signature(ask): ask for ask in self.asks}.values()
        views = [self.sight(ask).looks for ask in asks]
        ordered = [ask for ask in asks if ask.takes_all and self._covering[ask]]
        kinds = []
        for place, published in enumerate(self.devices):
            looks = [view[place] for view in views]
            is_unique = FAULT in looks or any(self._is_meant(ask, place) for ask in ordered)
            kind = place if is_unique else self._kind(published, looks)
            kinds.append(numbers.setdefault(kind, len(numbers)))
        return kinds

    def _is_meant(self, ask: Ask, place: int) -> bool:
        """Tell whether the order of the devices matters to an ask, and this is one of them.

        Where mode All meets a constraint it depends on the order which comes first: a device
        that is taken, which is no solution, or one that the constraint is against, which is
        broken input.
        """
        try:
            return self._standings.of(ask, place) is not None
        except BrokenInputError:
            return True

    def _kind(self, published: PublishedDevice, looks: Sequence[Look | Fault | None]) -> Hashable:
        draws: Hashable = None
        if published.draws:
            groups = tuple(each.compatibility_groups for each in published.device.consumes_counters)
            draws = (published.id.pool_id, published.draws, groups)
        booked = self._usage.booked.get(published.id)
        capacity: Hashable = None
        if published.is_shareable or booked is not None:
            capacity = (
                published.is_shareable,
                _in_order(published.device.capacity),
                None if booked is None else _in_order(booked),
            )
        return tuple(looks), draws, published.id in self._usage.holders, capacity

    def sight(self, ask: Ask) -> Sight:
        """Return what the ask makes of the devices."""
        signature = self._signature(ask)
        known = self._sights.get(signature)
        if known is None:
            known = self._sights[signature] = self._take_in(ask)
        return known

    def _take_in(self, ask: Ask) -> Sight:
        covering = self._covering[ask]
        looks: list[Look | Fault | None] = []
        places = 0
        values: tuple[dict[Hashable, Places], ...] = tuple({} for _ in covering)
        least: dict[str, int] | None = None
        amounts: dict[int, Mapping[str, Quantity]] = {}
        for place, published in enumerate(self.devices):
            look = self._look(ask, place)
            looks.append(look)
            if not isinstance(look, tuple):
                continue
            places |= 1 << place
            for state, value, known in zip(covering, look, values, strict=True):
                for each in _as_values(state, value):
                    known[each] = known.get(each, 0) | 1 << place
            least = _least(least, published)
            if published.is_shareable:
                standing = self._standings.of(ask, place)
                amounts[place] = NOTHING_ASKED if standing is None else standing.amounts
        return Sight(looks, FAULT not in looks, places, values, least or {}, amounts)

    def _look(self, ask: Ask, place: int) -> Look | Fault | None:
        published = self.devices[place]
        try:
            standing = self._standings.of(ask, place)
            if standing is None or standing.is_refused:
                return None
            values = tuple(
                self._standings.value(ask, state.attribute, published)
                for state in self._covering[ask]
            )
        except BrokenInputError:
            return FAULT
        fits = is_left(published.device, amounts=standing.amounts, booked=NOTHING_ASKED)
        return values if fits and None not in values else None

    def _signature(self, ask: Ask) -> Hashable:
        known = self._signatures.get(ask)
        if known is None:
            wish = ask.wish
            known = self._signatures[ask] = (
                wish.device_class_name,
                wish.selectors,
                wish.allocation_mode,
                wish.tolerations,
                None if wish.capacity is None else _in_order(wish.capacity),
                tuple((state.attribute, state.is_match) for state in self._covering[ask]),
                wish.derived_attributes,
            )
        return known


def _in_order(named: Mapping[str, Hashable]) -> Hashable:
    return tuple(sorted(named.items(), key=lambda item: item[0]))


def _as_values(state: ConstraintState, value: AttributeValue | None) -> Iterator[Hashable]:
    if value is not None:
        yield from members_of(value) if state.has_lists else (value,)


def _least(known: dict[str, int] | None, published: PublishedDevice) -> dict[str, int]:
    drawn: dict[str, int] = {}
    for draw in () if published.is_shareable else published.draws:
        _, name = draw.counter
        drawn[name] = drawn.get(name, 0) + draw.amount.nanos
    if known is None:
        return drawn
    return {name: min(amount, drawn[name]) for name, amount in known.items() if name in drawn}


def _places(places: Iterator[int]) -> Places:
    return sum(1 << place for place in places)


def places_in(places: Places) -> Iterator[int]:
    """Walk the places of a set, in order."""
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest
