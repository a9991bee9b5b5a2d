"""B7: how long it takes to say why a claim waits, on a fleet of 40,000 GPUs."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import orjson

from benchmarks.claims import NOTHING_MATCHES, a_claim, a_request
from benchmarks.fleets import World, gpu_fleet
from benchmarks.ours import as_new, best, forget_expressions, timed
from benchmarks.questions import Question
from benchmarks.scenarios import Scale
from benchmarks.table import Row, duration
from benchmarks.targets import AtMost, Column, within
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import JsonObject

GPUS: Final = 8
MEGABYTE: Final = 1_000_000


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
