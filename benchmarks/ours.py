"""Our allocator on a scenario: cold on a snapshot just decoded, warm on an index in use."""

import copy
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from benchmarks.answers import NOWHERE, Placement, placement
from benchmarks.scenarios import Scenario
from dra_console.allocator.cel.environment import environment_of
from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.first_fit import FirstFit, first_fit
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.world.index import Index, index_of

LEAST_REPETITIONS: Final = 3
PATIENCE_SECONDS: Final = 5


def forget_expressions() -> None:
    """Let the next question compile its selectors."""
    default_engine.cache_clear()


def forget_environments() -> None:
    """Let the next question make the CEL environment, as the first one of a process does."""
    environment_of.cache_clear()


def as_new(snapshot: Snapshot) -> Snapshot:
    """Return the same world as a snapshot that nothing has been derived from."""
    return replace(snapshot)


def pods_of(scenario: Scenario) -> list[ResourceClaim]:
    """Decode the claim of each pod by itself: equal specs, other names and UIDs."""
    claims = []
    for number in range(scenario.pods):
        claim = copy.deepcopy(scenario.claim_object)
        claim["metadata"] = {"namespace": "team", "name": f"pod-{number}", "uid": str(number)}
        claims.append(decode_claim(claim))
    return claims


def answers(scenario: Scenario, snapshot: Snapshot) -> list[Placement]:
    """Place the pods of a scenario on a world just decoded."""
    if scenario.pods == 1:
        (claim,) = pods_of(scenario)
        return [place(index_of(snapshot), claim)]
    return place_all(Fleet(snapshot), pods_of(scenario))


def place(index: Index, claim: ResourceClaim) -> Placement:
    """Find a place for one pod; nothing is held."""
    return placement_of(first_fit(index, [claim]))


def place_all(fleet: Fleet, claims: Sequence[ResourceClaim]) -> list[Placement]:
    """Place pods in a row, each holding what it got."""
    placements = []
    for claim in claims:
        found = fleet.first_fit([claim])
        if isinstance(found.outcome, Allocated):
            fleet.put_claim(replace(claim, allocation=found.outcome.results[0]))
        placements.append(placement_of(found))
    return placements


def placement_of(found: FirstFit) -> Placement:
    """Write an answer as something to compare."""
    if found.node is None or not isinstance(found.outcome, Allocated):
        return NOWHERE
    return placement(found.node.name, found.outcome.results)


def cold_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time one pod on a snapshot just decoded, index and compiling included."""
    return _from_nothing(scenario, forget_expressions, seconds=seconds)


def kept_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time the same in a process that has seen the selectors on another snapshot of the world.

    They are compiled, and with them are kept their answers for equal devices.
    """
    return _from_nothing(scenario, lambda: None, seconds=seconds)


def first_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time the same as the first question of a process, but for its imports."""

    def forget() -> None:
        forget_expressions()
        forget_environments()

    return _from_nothing(scenario, forget, seconds=seconds)


def _from_nothing(scenario: Scenario, forget: Callable[[], None], *, seconds: float) -> float:
    claims = pods_of(scenario)

    def once() -> float:
        snapshot = as_new(scenario.world.snapshot)
        forget()
        if scenario.pods == 1:
            return timed(lambda: first_fit(index_of(snapshot), claims))
        return timed(lambda: place_all(Fleet(snapshot), claims))

    return best(once, seconds=seconds) / scenario.pods


def warm_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time one pod where the same was answered before, for other claims."""
    if scenario.pods == 1:
        return _warm_question(scenario, seconds=seconds)
    fleet = Fleet(scenario.world.snapshot)

    def once() -> float:
        claims = pods_of(scenario)
        took = timed(lambda: place_all(fleet, claims))
        for claim in claims:
            fleet.remove_claim(claim.key)
        return took

    once()
    return best(once, seconds=seconds) / scenario.pods


def _warm_question(scenario: Scenario, *, seconds: float) -> float:
    index = index_of(scenario.world.snapshot)

    def once() -> float:
        claims = pods_of(scenario)
        return timed(lambda: first_fit(index, claims))

    once()
    return best(once, seconds=seconds)


def best(once: Callable[[], float], *, seconds: float) -> float:
    """Repeat a measurement for so long, long ones three times if it can be; the shortest."""
    figures: list[float] = []
    settle()
    began = time.perf_counter()
    while len(figures) < LEAST_REPETITIONS or time.perf_counter() - began < seconds:
        if figures and time.perf_counter() - began > max(seconds, PATIENCE_SECONDS):
            break
        figures.append(once())
    return min(figures)


def settle() -> None:
    """Keep the benchmark's own objects, worlds as JSON among them, out of garbage collections."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def timed(act: Callable[[], object]) -> float:
    """Time one act, in seconds."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
