"""Attributes and capacities that selectors read and no device publishes: mostly typing errors."""

from collections.abc import Iterable, Sequence

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.facts import DeviceFacts
from dra_console.allocator.search.wants import Want


def unknown_names(wants: Iterable[Want], facts: Sequence[DeviceFacts]) -> tuple[cel_text.Read, ...]:
    """List what the selectors of the wants name and none of the devices has, each once."""
    named = {
        read
        for want in wants
        for selector in want.selectors
        for read in cel_text.reads(selector.expression or "").names
        if read.name is not None
    }
    return tuple(sorted(read for read in named if not any(_has(each, read) for each in facts)))


def _has(facts: DeviceFacts, read: cel_text.Read) -> bool:
    domains = facts.attributes if read.group == "attributes" else facts.capacity
    return read.name in domains.get(read.domain, {})
