"""What only our allocator is asked, with nothing to compare with but a bound.

B7 is why a claim waits on a fleet of 40,000 GPUs, B8 is one expression against every one of
them, as somebody types it into a CEL tester.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import orjson

from benchmarks.claims import NOTHING_MATCHES, RAREST_BOARD, a_claim, a_request
from benchmarks.fleets import World, attribute, empty_fleet, gpu_fleet
from benchmarks.ours import as_new, best, forget_expressions, timed
from benchmarks.scenarios import Scale
from benchmarks.table import Row, duration
from benchmarks.targets import AtMost, Column, Target, within
from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import JsonObject
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.selected import selected

GPUS: Final = 8
MEGABYTE: Final = 1_000_000
ONE_GPU: Final = f"{attribute('uuid')} == 'GPU-00000000-0000-0000-0000-000000000000'"


@dataclass(frozen=True, slots=True)
class Question:
    """One row to be; `answer` takes the seconds for which to repeat each figure."""

    id: str
    title: str
    answer: Callable[["Question", float], Row]

    @property
    def key(self) -> str:
        return f"{self.id} {self.title}"

    def measure(self, seconds: float) -> Row:
        """Ask and time it."""
        return self.answer(self, seconds)


def explanations(scale: Scale) -> Iterator[Question]:
    """Ask why claims wait where one GPU of each node is held."""
    nodes = scale.large_nodes
    held = [(node, 0) for node in range(nodes)]
    world = gpu_fleet(f"{nodes}x{GPUS} one held", nodes=nodes, gpus=GPUS, held=held)
    for what, claim in (
        ("nothing matches", a_claim(a_request(selectors=[NOTHING_MATCHES]))),
        (f"{GPUS} GPUs, {GPUS - 1} free a node", a_claim(a_request(count=GPUS))),
    ):
        title = f"explain: {what}, {nodes} x {GPUS}"
        yield Question("B7", title, partial(_explained, world, claim))


def _explained(world: World, claim_object: JsonObject, question: Question, seconds: float) -> Row:
    claim = decode_claim(claim_object)

    def cold() -> float:
        snapshot = as_new(world.snapshot)
        forget_expressions()
        return timed(lambda: explain(snapshot, [claim]))

    cold_seconds = best(cold, seconds=seconds)
    explanation = explain(world.snapshot, [claim])
    warm_seconds = best(lambda: timed(lambda: explain(world.snapshot, [claim])), seconds=seconds)
    written = orjson.dumps(explanation.to_json())
    to_json_seconds = best(lambda: timed(explanation.to_json), seconds=seconds)
    return Row(
        question.id,
        question.title,
        {Column.COLD: cold_seconds, Column.WARM: warm_seconds},
        (within(150), AtMost("megabytes", len(written) / MEGABYTE, 5)),
        remarks=(f"its JSON takes {duration(to_json_seconds)} more",),
    )


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
