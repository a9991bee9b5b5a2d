"""B6: what an index costs to make, and what it costs to ask it something new."""

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from typing import Final

from benchmarks.claims import a_claim, a_request
from benchmarks.fleets import World, attribute, empty_fleet
from benchmarks.ours import as_new, best, forget_expressions, timed
from benchmarks.questions import Question
from benchmarks.scenarios import Scale
from benchmarks.table import Row, duration
from benchmarks.targets import Column, within
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.outcomes import DoesNotFit
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.world.index import Index, index_of

GPUS: Final = 8
MEGABYTE: Final = 1_000_000
_numbers: Final = count()


def index_questions(scale: Scale) -> Iterator[Question]:
    """Ask for the index of the large fleet, then for selectors that nobody has asked before."""
    nodes = scale.large_nodes
    world = empty_fleet(nodes=nodes, gpus=GPUS)
    size = f"{nodes} x {GPUS}"
    yield Question("B6", f"index, and every GPU looked at, {size}", partial(_made, world))
    yield Question("B6", f"a new selector on fields known, {size}", partial(_known_fields, world))
    yield Question("B6", f"a new selector on a new field, {size}", partial(_new_field, world))
    yield Question("B6", f"one slice updated, {size}", partial(_updated, world))


def nothing_with(field: str) -> ResourceClaim:
    """Ask for a GPU with a value that none has, in words that nobody has used before."""
    selector = f"{attribute(field)} == 'no such thing, {next(_numbers)}'"
    return decode_claim(a_claim(a_request(selectors=[selector])))


def look_everywhere(index: Index, claim: ResourceClaim) -> None:
    """Ask about a claim that fits nowhere, so that every device has its say.

    Raises:
        TypeError: it did fit, or could not be told.

    """
    found = first_fit(index, [claim])
    if not isinstance(found.outcome, DoesNotFit):
        raise TypeError(f"expected no fit, got {found}")


def index_megabytes(snapshot: Snapshot) -> float:
    """Measure what an index weighs over its decoded snapshot, after one look at all devices."""
    fresh, claim = as_new(snapshot), nothing_with("productName")
    tracemalloc.start()
    try:
        look_everywhere(index_of(fresh), claim)
        weight, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return weight / MEGABYTE


def _made(world: World, question: Question, seconds: float) -> Row:
    def cold() -> float:
        snapshot, claim = as_new(world.snapshot), nothing_with("productName")
        forget_expressions()
        return timed(lambda: look_everywhere(index_of(snapshot), claim))

    times = {Column.COLD: best(cold, seconds=seconds)}
    megabytes = index_megabytes(world.snapshot)
    remark = f"the index weighs {megabytes:.1f} MB over the decoded snapshot"
    return Row(question.id, question.title, times, (within(500, Column.COLD),), remarks=(remark,))


def _known_fields(world: World, question: Question, seconds: float) -> Row:
    index = index_of(world.snapshot)
    look_everywhere(index, nothing_with("productName"))

    def warm() -> float:
        claim = nothing_with("productName")
        return timed(lambda: look_everywhere(index, claim))

    times = {Column.WARM: best(warm, seconds=seconds)}
    return Row(question.id, question.title, times, (within(10),))


def _new_field(world: World, question: Question, seconds: float) -> Row:
    def warm() -> float:
        index = index_of(as_new(world.snapshot))
        look_everywhere(index, nothing_with("productName"))
        claim = nothing_with("architecture")
        return timed(lambda: look_everywhere(index, claim))

    times = {Column.WARM: best(warm, seconds=seconds)}
    return Row(question.id, question.title, times, (within(150),))


def _updated(world: World, question: Question, seconds: float) -> Row:
    fleet, claim = Fleet(world.snapshot), nothing_with("productName")
    fleet.first_fit([claim])
    slices = cycle(world.snapshot.slices)
    answered: list[float] = []

    def warm() -> float:
        # Half of its devices are gone, then it is as before: both are changes.
        published = next(slices)
        halved = replace(published, devices=published.devices[::2])
        took = timed(lambda: fleet.put_slice(halved))
        answered.append(timed(lambda: fleet.first_fit([claim])))
        fleet.put_slice(published)
        return took

    times = {Column.WARM: best(warm, seconds=seconds)}
    remark = f"the next answer about all nodes takes {duration(min(answered))}"
    return Row(question.id, question.title, times, (within(0.1),), remarks=(remark,))
