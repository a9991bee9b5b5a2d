"""The view that an explanation has of devices: what its claims read, and no more."""

from collections.abc import Iterable, Iterator

from dra_console.allocator.cel.reads import Read, Reads
from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.views import View


def view_for(index: Index, wants: Iterable[Want]) -> View:
    """Return a view in which devices that the wants cannot tell apart are of one kind.

    A constraint names its attribute with the domain. One that does not, which only an object
    that was never validated can hold, is taken to read everything.
    """
    wants = tuple(wants)
    expressions = (expression for want in wants for expression in _expressions(want))
    programs = map(default_engine().compile, expressions)
    reads = [program.reads for program in programs if isinstance(program, Program)]
    constrained = frozenset(name for want in wants for name in _constrained(want))
    return index.views.covering(
        Reads(
            names=frozenset(name for each in reads for name in each.names)
            | frozenset(read for read in constrained if read.domain),
            is_whole_device=any(each.is_whole_device for each in reads)
            or any(not read.domain for read in constrained),
        ),
        compares_capacity=any(want.wish.capacity is not None for want in wants),
    )


def _expressions(want: Want) -> Iterator[str]:
    for selector in want.selectors:
        yield selector.expression or ""
    for derived in want.wish.derived_attributes:
        yield derived.expression


def _constrained(want: Want) -> Iterator[Read]:
    derived = {each.name for each in want.wish.derived_attributes}
    for constraint in want.claim.spec.constraints:
        for attribute in (constraint.match_attribute, constraint.distinct_attribute):
            if attribute is not None and attribute not in derived:
                domain, slash, name = attribute.partition("/")
                yield Read("attributes", domain if slash else "", name)
