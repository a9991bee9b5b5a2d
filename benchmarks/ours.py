"""Our allocator on a scenario: cold on a snapshot just decoded, warm on an index in use."""

import copy
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.answers import NOWHERE, Placement, placement
from benchmarks.scenarios import Scenario
from dra_console.allocator.cel import checking
from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import index_of


def forget_expressions() -> None:
    """Let the next question compile its selectors."""
    default_engine.cache_clear()


def forget_environments() -> None:
    """Let the next question make the CEL environment, as the first one of a process does."""
    checking._environment.cache_clear()  # noqa: SLF001 - nobody else wants to make it twice


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


def place_all(snapshot: Snapshot, claims: Sequence[ResourceClaim]) -> list[Placement]:
    """Place pods in a row, each holding what it got."""
    index, holding = index_of(snapshot), [*snapshot.claims]
    placements = []
    for claim in claims:
        found = first_fit(index, [claim])
        if found.node is None or not isinstance(found.outcome, Allocated):
            placements.append(NOWHERE)
            continue
        placements.append(placement(found.node.name, found.outcome.results))
        if len(claims) > 1:
            holding.append(replace(claim, allocation=found.outcome.results[0]))
            index = index.with_claims(holding)
    return placements


def cold_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time one pod on a snapshot just decoded, index and compiling included."""
    return _from_nothing(scenario, forget_expressions, seconds=seconds)


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
        return timed(lambda: place_all(snapshot, claims))

    return best(once, seconds=seconds) / scenario.pods


def warm_seconds(scenario: Scenario, *, seconds: float) -> float:
    """Time one pod on an index that has answered before."""
    snapshot = scenario.world.snapshot
    place_all(snapshot, pods_of(scenario))

    def once() -> float:
        claims = pods_of(scenario)
        return timed(lambda: place_all(snapshot, claims))

    return best(once, seconds=seconds) / scenario.pods


def best(once: Callable[[], float], *, seconds: float) -> float:
    """Repeat a measurement for so long, at least once, and return the shortest."""
    figures: list[float] = []
    gc.collect()
    began = time.perf_counter()
    while not figures or time.perf_counter() - began < seconds:
        figures.append(once())
    return min(figures)


def timed(act: Callable[[], object]) -> float:
    """Time one act, in seconds."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
