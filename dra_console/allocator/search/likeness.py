"""When two devices are equal, as far as one call can see.

Selectors are not evaluated for this: whatever two devices agree on, every expression that
reads nothing else answers alike for both, be the answer a match or an error. An expression
that reads the whole device makes every device its own kind.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.selectors import PROGRAM_LIMIT, projection
from dra_console.allocator.cel.text import Reads
from dra_console.allocator.search.asks import Ask
from dra_console.allocator.world.pools import PublishedDevice

reads_of = lru_cache(maxsize=PROGRAM_LIMIT)(cel_text.reads)


class Likeness:
    """Kinds of devices for the asks of one call."""

    def __init__(self, asks: Iterable[Ask]) -> None:
        asks = tuple(asks)
        reads = [reads_of(selector.expression or "") for ask in asks for selector in ask.selectors]
        self._reads = Reads(
            names=frozenset(name for each in reads for name in each.names),
            is_whole_device=any(each.is_whole_device for each in reads),
        )
        self._constrained = tuple(
            sorted(
                {
                    attribute
                    for ask in asks
                    for constraint in ask.claim.spec.constraints
                    for attribute in (constraint.match_attribute, constraint.distinct_attribute)
                    if attribute is not None
                }
            )
        )
        self._compares_capacity = any(ask.wish.capacity is not None for ask in asks)
        self._kinds: dict[PublishedDevice, Hashable] = {}

    def kind(self, published: PublishedDevice) -> Hashable:
        """Name the kind of a device; devices of one kind are interchangeable."""
        kind = self._kinds.get(published)
        if kind is None:
            kind = self._kinds[published] = self._kind(published)
        return kind

    def _kind(self, published: PublishedDevice) -> Hashable:
        device = published.device
        if device.allow_multiple_allocations:
            return published.id
        capacity = tuple(sorted(device.capacity.items(), key=lambda item: item[0]))
        return (
            projection(published.facts, self._reads),
            tuple(published.facts.attribute(name) for name in self._constrained),
            published.taints,
            (published.id.pool_id, published.draws) if published.draws else None,
            published.reach if published.is_reach_own else None,
            capacity if self._compares_capacity else None,
        )
