"""B8: one expression against every GPU of a fleet, as somebody types it into a CEL tester."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from benchmarks.claims import RAREST_BOARD
from benchmarks.fleets import World, attribute, empty_fleet
from benchmarks.ours import as_new, best, forget_expressions, timed
from benchmarks.questions import Question
from benchmarks.scenarios import Scale
from benchmarks.table import Row
from benchmarks.targets import Column, Target, within
from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.selected import selected

GPUS: Final = 8
ONE_GPU: Final = f"{attribute('uuid')} == 'GPU-00000000-0000-0000-0000-000000000000'"


def selections(scale: Scale) -> Iterator[Question]:
    """Ask for a board, and for one GPU by what no other has."""
    nodes = scale.large_nodes
    world = empty_fleet(nodes=nodes, gpus=GPUS)
    for what, expression, targets in (
        ("product and memory", RAREST_BOARD, (within(50),)),
        ("the UUID, of which no two are equal", ONE_GPU, ()),
    ):
        title = f"devices that an expression on {what} selects, {nodes} x {GPUS}"
        yield Question("B8", title, partial(_asked, world, expression, targets))


def matching(index: Index, expression: str) -> int:
    """Count the devices that match.

    Raises:
        TypeError: the expression does not compile.

    """
    program = default_engine().compile(expression)
    if not isinstance(program, Program):
        raise TypeError(f"{expression}: {program}")
    return sum(each.answers.count(True) for each in selected(program, index=index))


def _asked(
    world: World, expression: str, targets: Sequence[Target], question: Question, seconds: float
) -> Row:
    def cold() -> float:
        snapshot = as_new(world.snapshot)
        forget_expressions()
        return timed(lambda: matching(index_of(snapshot), expression))

    cold_seconds = best(cold, seconds=seconds)
    index = index_of(world.snapshot)
    count = matching(index, expression)
    warm_seconds = best(lambda: timed(lambda: matching(index, expression)), seconds=seconds)
    return Row(
        question.id,
        question.title,
        {Column.COLD: cold_seconds, Column.WARM: warm_seconds},
        targets,
        remarks=(f"{count:,} devices match",),
    )
