"""B1 and B3: many pods in a row on one fleet in memory, and a fleet whose pods come and go."""

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from benchmarks.answers import compare
from benchmarks.claims import a_claim, a_request
from benchmarks.fleets import PCIE_ROOT, World, attribute, empty_fleet
from benchmarks.ours import placement_of, settle
from benchmarks.questions import Question
from benchmarks.reference import Reference
from benchmarks.scenarios import Scale
from benchmarks.table import Row, duration
from benchmarks.targets import AtLeast, AtMost, Column
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.fleet import Fleet

SMALL_GPUS: Final = 10
LARGE_GPUS: Final = 8
FULL: Final = 0.9
"""Share of the GPUs that are held before pods come and go."""

KINDS: Final = (
    a_claim(a_request()),
    a_claim(a_request(selectors=[f"{attribute('architecture')} == 'Hopper'"])),
    a_claim(a_request(selectors=[f"{attribute('productName')}.contains('A100')"])),
    a_claim(a_request(count=2), match_attribute=PCIE_ROOT),
)
"""What pods of a mixed fleet ask for."""


def streams(scale: Scale) -> Iterator[Question]:
    """Fill the small fleet, then the large one; then let pods come and go on the large one."""
    small, large = scale.small_nodes, scale.large_nodes
    small_fleet = empty_fleet(nodes=small, gpus=SMALL_GPUS)
    large_fleet = empty_fleet(nodes=large, gpus=LARGE_GPUS)
    title = f"fill {small} nodes x {SMALL_GPUS}, one GPU each"
    yield Question("B1", title, partial(_filled, small_fleet))
    for kinds, what in ((KINDS[:1], "one kind of claim"), (KINDS, f"{len(KINDS)} kinds of claims")):
        title = f"churn at 90 % on {large} nodes x {LARGE_GPUS}, {what}"
        yield Question("B3", title, partial(_churned, large_fleet, kinds))


@dataclass(slots=True)
class Traffic:
    """Pods that come and go; every place found is held until its pod goes."""

    fleet: Fleet
    kinds: Sequence[ResourceClaim]
    number: int = 0
    running: list[ResourceClaim] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """How long each pod took to come: the search, and to hold what it found."""

    def come(self) -> int:
        """Place and hold one more pod; return how many devices it got, 0 if it does not fit."""
        kind = self.kinds[self.number % len(self.kinds)]
        self.number += 1
        claim = replace(kind, name=f"pod-{self.number}", uid=str(self.number))
        began = time.perf_counter()
        found = self.fleet.first_fit([claim])
        searched = time.perf_counter()
        if not isinstance(found.outcome, Allocated):
            return 0
        (result,) = found.outcome.results
        held = replace(claim, allocation=result)
        taken = time.perf_counter()
        self.fleet.put_claim(held)
        self.seconds.append(time.perf_counter() - taken + searched - began)
        self.running.append(held)
        return len(result.results)

    def go(self, dice: random.Random) -> None:
        """Let any one of the pods end."""
        at = dice.randrange(len(self.running))
        self.running[at], self.running[-1] = self.running[-1], self.running[at]
        self.fleet.remove_claim(self.running.pop().key)


def check_against_reference(traffic: Traffic) -> None:
    """Hold what the fleet answers now against the plain method on a snapshot of it.

    Raises:
        DifferentAnswersError: they disagree on some kind of pod.

    """
    snapshot = traffic.fleet.snapshot()
    for claim in traffic.kinds:
        answers = {
            "the fleet": [placement_of(traffic.fleet.first_fit([claim]))],
            "the reference method": [Reference(snapshot).place(claim, deadline=math.inf)],
        }
        compare(f"{len(traffic.running)} pods on {len(snapshot.nodes)} nodes", answers)


def _filled(world: World, question: Question, _seconds: float) -> Row:
    snapshot = world.snapshot
    settle()
    traffic = Traffic(Fleet(snapshot), [decode_claim(KINDS[0])])
    while traffic.come():
        pass
    spent = sum(traffic.seconds)
    rate = len(traffic.running) / spent
    return Row(
        question.id,
        question.title,
        {Column.WARM: spent / len(traffic.running)},
        (AtLeast("allocations/s", rate, 20_000),),
        remarks=(f"{len(traffic.running):,} pods", *_percentiles(traffic)),
    )


def _churned(world: World, kinds: Sequence[JsonObject], question: Question, seconds: float) -> Row:
    dice = random.Random(1)  # noqa: S311 - the same traffic in every run
    snapshot = world.snapshot
    settle()
    traffic = Traffic(Fleet(snapshot), [decode_claim(each) for each in kinds])
    total = sum(len(each.devices) for each in snapshot.slices)
    wanted, held = FULL * total, 0
    while held < wanted and (got := traffic.come()):
        held += got
    filled = f"fill to 90 %: {len(traffic.running) / sum(traffic.seconds):,.0f} allocations/s"
    traffic.seconds.clear()
    ends = time.perf_counter() + max(seconds, 0.01) * 4
    while time.perf_counter() < ends:
        traffic.go(dice)
        traffic.come()
    check_against_reference(traffic)
    ordered = sorted(traffic.seconds)
    return Row(
        question.id,
        question.title,
        {Column.WARM: sum(ordered) / len(ordered)},
        (AtMost("p99 in us", _percentile(ordered, 99) * 1e6, 200),),
        remarks=(filled, *_percentiles(traffic)),
    )


def _percentiles(traffic: Traffic) -> Iterator[str]:
    ordered = sorted(traffic.seconds)
    yield ", ".join(f"p{each} {duration(_percentile(ordered, each))}" for each in (50, 99))


def _percentile(ordered: Sequence[float], percent: int) -> float:
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
