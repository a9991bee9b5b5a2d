"""What all asks of a call make of a node's devices, found out in advance and without harm.

A search that fails a lot has to know which devices are alike and how many could serve the
requests that are still to come. Here every pair of ask and device is evaluated, but nothing
that is broken about one ends the search: that is for the search to reach or not to reach. A
device with such a pair is like no other, and an ask with such a device is never judged as
hopeless.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dra_console.allocator.inventory import AttributeValue
from dra_console.allocator.outcomes import BrokenInputError
from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.matching import NOTHING_ASKED
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.world.capacity import is_left
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.usage import Usage

Look: TypeAlias = tuple[AttributeValue | None, ...]
"""The values that the constraints on an ask see, of a device that it may get."""


class Fault:
    """A pair of ask and device that ends the search when it is reached."""


FAULT: Final = Fault()


@dataclass(slots=True)
class Looks:
    """Looks of all asks at all devices, each made when first asked for."""

    asks: Sequence[Ask]
    devices: Sequence[PublishedDevice]
    standings: Standings
    covering: Mapping[Ask, Sequence[ConstraintState]]
    usage: Usage
    _signatures: dict[Ask, Hashable] = field(default_factory=dict)
    _looks: dict[Hashable, list[Look | Fault | None]] = field(default_factory=dict)
    _clean: dict[Hashable, bool] = field(default_factory=dict)
    _by_kind: dict[Hashable, dict[int, Look]] = field(default_factory=dict)
    _kinds: list[int] = field(default_factory=list)

    @property
    def has_admin_access(self) -> bool:
        """Tell whether it matters which claim has a device: to admin access it does."""
        return any(ask.wish.admin_access for ask in self.asks)

    def of(self, ask: Ask) -> list[Look | Fault | None]:
        """Return the ask's look at each device; `None` for one that it can never get.

        Asks that want the same share one list.
        """
        signature = self._signature(ask)
        known = self._looks.get(signature)
        if known is None:
            places = range(len(self.devices))
            known = self._looks[signature] = [self._look(ask, place) for place in places]
        return known

    def is_clean(self, ask: Ask) -> bool:
        """Tell whether no device would end the search when the ask is tried on it."""
        signature = self._signature(ask)
        known = self._clean.get(signature)
        if known is None:
            known = self._clean[signature] = FAULT not in self.of(ask)
        return known

    def by_kind(self, ask: Ask) -> Mapping[int, Look]:
        """Return the looks at devices that the ask may get, by the kind of the device."""
        signature = self._signature(ask)
        known = self._by_kind.get(signature)
        if known is None:
            pairs = zip(self.kinds, self.of(ask), strict=True)
            known = self._by_kind[signature] = {
                kind: look for kind, look in pairs if isinstance(look, tuple)
            }
        return known

    @property
    def kinds(self) -> list[int]:
        """Number the devices so that equal ones have equal numbers."""
        if not self._kinds and self.devices:
            numbers: dict[Hashable, int] = {}
            views = [(self._is_ordered(ask), self.of(ask)) for ask in self._representatives()]
            for place, published in enumerate(self.devices):
                is_ordered = any(each and view[place] is not None for each, view in views)
                looks = [view[place] for _, view in views]
                kind = place if is_ordered else self._kind(place, published, looks)
                self._kinds.append(numbers.setdefault(kind, len(numbers)))
        return self._kinds

    def _is_ordered(self, ask: Ask) -> bool:
        """Tell whether the order of the devices matters to the ask, and not their kinds alone.

        Where mode All meets a constraint it depends on the order which comes first: a device
        that is taken, which is no solution, or one that the constraint is against, which is
        broken input.
        """
        return ask.takes_all and bool(self.covering[ask])

    def _representatives(self) -> Iterable[Ask]:
        return {self._signature(ask): ask for ask in self.asks}.values()

    def _kind(
        self, place: int, published: PublishedDevice, looks: Sequence[Look | Fault | None]
    ) -> Hashable:
        is_special = published.is_shareable or published.id in self.usage.booked
        if is_special or any(look is FAULT for look in looks):
            return place
        draws: Hashable = None
        if published.draws:
            groups = tuple(each.compatibility_groups for each in published.device.consumes_counters)
            draws = (published.id.pool_id, published.draws, groups)
        return (tuple(looks), draws, published.id in self.usage.holders)

    def _look(self, ask: Ask, place: int) -> Look | Fault | None:
        published = self.devices[place]
        try:
            standing = self.standings.of(ask, place)
            if standing is None or standing.is_refused:
                return None
            values = tuple(
                self.standings.value(ask, state.attribute, published)
                for state in self.covering[ask]
            )
        except BrokenInputError:
            return FAULT
        fits = is_left(published.device, amounts=standing.amounts, booked=NOTHING_ASKED)
        return values if fits and None not in values else None

    def _signature(self, ask: Ask) -> Hashable:
        known = self._signatures.get(ask)
        if known is None:
            wish = ask.wish
            capacity = sorted((name, each.nanos) for name, each in (wish.capacity or {}).items())
            known = self._signatures[ask] = (
                wish.device_class_name,
                wish.selectors,
                wish.allocation_mode,
                wish.tolerations,
                wish.capacity is not None,
                tuple(capacity),
                tuple((state.attribute, state.is_match) for state in self.covering[ask]),
                wish.derived_attributes,
            )
        return known
