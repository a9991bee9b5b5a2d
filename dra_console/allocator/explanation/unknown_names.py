"""Attributes and capacities that selectors read and no device publishes: mostly typing errors."""

from collections.abc import Iterable, Sequence

from dra_console.allocator.cel.reads import Read
from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.facts import DeviceFacts
from dra_console.allocator.search.wants import Want


def unknown_names(wants: Iterable[Want], facts: Sequence[DeviceFacts]) -> tuple[Read, ...]:
    """List what the selectors of the wants name and none of the devices has, each once."""
    expressions = {selector.expression or "" for want in wants for selector in want.selectors}
    programs = map(default_engine().compile, expressions)
    named = {
        read
        for program in programs
        if isinstance(program, Program)
        for read in program.reads.names
        if read.name is not None
    }
    return tuple(sorted(read for read in named if not any(_has(each, read) for each in facts)))


def _has(facts: DeviceFacts, read: Read) -> bool:
    domains = facts.attributes if read.group == "attributes" else facts.capacity
    return read.name in domains.get(read.domain, {})
