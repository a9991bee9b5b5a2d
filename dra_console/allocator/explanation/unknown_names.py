"""Attributes and capacities that selectors read and no device publishes: mostly typing errors."""

from collections.abc import Iterable, Iterator, Sequence

from dra_console.allocator.cel.reads import Read
from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.published import PublishedDevice


def unknown_names(wants: Iterable[Want], devices: Sequence[PublishedDevice]) -> tuple[Read, ...]:
    """List what the selectors of the wants name and none of the devices has, each once."""
    named = _named_by(wants)
    return tuple(sorted(read for read in named if not any(_has(each, read) for each in devices)))


def _named_by(wants: Iterable[Want]) -> set[Read]:
    expressions = {selector.expression or "" for want in wants for selector in want.selectors}
    programs = map(default_engine().compile, expressions)
    return {
        read
        for program in programs
        if isinstance(program, Program)
        for read in program.reads.names
        if read.name is not None
    }


def _has(published: PublishedDevice, read: Read) -> bool:
    """Look a name up as `facts_of` would show it, which costs more memory than the device."""
    device = published.device
    names = device.attributes if read.group == "attributes" else device.capacity
    return any(spelled in names for spelled in _spellings(read, driver=published.id.driver))


def _spellings(read: Read, *, driver: str) -> Iterator[str]:
    if "/" not in read.domain:
        yield f"{read.domain}/{read.name}"
    if read.domain == driver and read.name is not None and "/" not in read.name:
        yield read.name
