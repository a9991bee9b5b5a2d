"""One scenario from question to row: three answers, compared, then three sets of times."""

import time
from collections.abc import Iterator, Sequence

from benchmarks import ours
from benchmarks.answers import Placement, compare
from benchmarks.reference import Reference, nodes_to_find
from benchmarks.reference_search import OutOfTimeError
from benchmarks.scenarios import Scenario
from benchmarks.table import Row
from benchmarks.targets import Column
from benchmarks.upstream import Upstream


def measure(scenario: Scenario, *, upstream: Upstream | None, seconds: float) -> Row:
    """Answer a scenario with every allocator there is, compare the answers, take the times.

    `seconds` is how long each of our figures is repeated.

    Raises:
        DifferentAnswersError: two of them disagree.

    """
    answers: dict[str, Sequence[Placement]] = {
        "ours": ours.answers(scenario, scenario.world.snapshot)
    }
    times: dict[Column, float] = {}
    unfinished: set[Column] = set()

    for column, fitting in nodes_asked(scenario):
        times[column], placements = ask_reference(
            scenario, limit_seconds=scenario.limit_seconds, fitting=fitting
        )
        if placements is None:
            unfinished.add(column)
        else:
            answers[f"the plain method ({column})"] = placements

    if upstream is not None:
        answer = upstream.answer(scenario)
        times |= answer.seconds
        if not scenario.is_beside_upstream:
            del times[Column.GO_FIRST]
        if answer.placements is None:
            unfinished |= answer.seconds.keys()
        else:
            answers["upstream"] = answer.placements

    compare(scenario.key, answers)
    if scenario.is_beside_upstream:
        times[Column.FIRST] = ours.first_seconds(scenario, seconds=seconds)
    times[Column.COLD] = ours.cold_seconds(scenario, seconds=seconds)
    times[Column.KEPT] = ours.kept_seconds(scenario, seconds=seconds)
    times[Column.WARM] = ours.warm_seconds(scenario, seconds=seconds)
    return Row(scenario.id, scenario.title, times, scenario.targets, frozenset(unfinished))


def nodes_asked(scenario: Scenario) -> Iterator[tuple[Column, int]]:
    """Say for how many fitting nodes the plain method looks; streams alone are filtered."""
    yield Column.REFERENCE, 1
    if scenario.pods > 1:
        yield Column.FILTER, nodes_to_find(len(scenario.world.snapshot.nodes))


def ask_reference(
    scenario: Scenario, *, limit_seconds: float, fitting: int = 1
) -> tuple[float, Sequence[Placement] | None]:
    """Time one pod with the plain method, once, expressions compiled; `None` if it took too long.

    Compiling is left out for its benefit: a scheduler compiles once in its life.
    """
    reference = Reference(scenario.world.snapshot)
    claims = ours.pods_of(scenario)
    reference.compile(claims)
    deadline = time.perf_counter() + limit_seconds
    placements: list[Placement] = []

    def place() -> None:
        placements.extend(
            reference.place(claim, deadline=deadline, fitting=fitting) for claim in claims
        )

    try:
        return ours.timed(place) / len(claims), placements
    except OutOfTimeError:
        return limit_seconds, None
