"""How many pods of a shape fit in a world, where, and what stands against one more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.explanation.explain import (
    ExplainedOutcome,
    Explanation,
    explain,
    explain_misfit,
)
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.search.filled_usage import filled_usage
from dra_console.allocator.search.filling import Filling, fill, place
from dra_console.allocator.world.index import Index, carry_index, index_of
from dra_console.scheduling.whatif.changing import World

SIMULATED: Final = "what-if"
"""Stands behind the names of claims that nobody has made."""


@dataclass(frozen=True, slots=True)
class Places:
    """Nodes that take equally many of the pods."""

    each: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """What becomes of pods of one shape that come one after another.

    `explanation` says what stands against one more; where none fits at all, it is the full one,
    with changes that would help. `None`: some search was not brought to its end, so `count` is a
    lower bound and nothing stands against one more that is known.
    """

    count: int
    is_lower_bound: bool
    places: tuple[Places, ...]
    explanation: Explanation | None
    filling: Filling


@dataclass(frozen=True, slots=True)
class Added:
    """Pods that a scenario adds: how many were wanted, and where they went."""

    wanted: int
    count: int
    places: tuple[Places, ...]
    stopped: str
    """Why the rest found no place; empty if there is no rest."""


def usable_nodes(world: World) -> Sequence[Node]:
    """List the nodes that take pods."""
    return [node for node in world.snapshot.nodes if node.name not in world.unusable]


def fit(world: World, claims: Sequence[ResourceClaim]) -> Fit:
    """Place pods with these claims until none fits."""
    index = index_of(world.snapshot)
    nodes = usable_nodes(world)
    filling = fill(index, [claims], nodes=nodes)
    count = filling.count()
    explanation: Explanation | None = None
    if count and filling.broken is not None:
        explanation = Explanation(
            ExplainedOutcome.BROKEN, str(filling.broken), detail="", node=None, groups=()
        )
    elif filling.broken is not None or (not count and not filling.is_lower_bound):
        explanation = explain(world.snapshot, claims, left_out=world.unusable)
    elif not filling.is_lower_bound:
        explanation = explain_misfit(
            _filled(index, filling, claims), claims, nodes=nodes, left_out=world.unusable
        )
    return Fit(
        count, filling.is_lower_bound, folded(filling.counts_by_node()), explanation, filling
    )


def _filled(index: Index, filling: Filling, claims: Sequence[ResourceClaim]) -> Index:
    holder = replace(claims[0], name=f"{claims[0].name} ({SIMULATED})")
    usage = filled_usage(index.usage, filling, holder=holder, rules=index.rules)
    return replace(index, usage=usage)


def add_pods(
    world: World, claims: Sequence[ResourceClaim], *, count: int, number: int
) -> tuple[World, Added]:
    """Place so many pods; `number` tells them from pods that were added before."""
    index = index_of(world.snapshot)
    nodes = usable_nodes(world)
    done = place(index, claims, count=count, nodes=nodes)
    held = tuple(
        replace(
            claim,
            name=f"{claim.name} ({SIMULATED} {number}-{at})",
            uid=f"{SIMULATED}-{number}-{at}-{claim.name}",
            allocation=result,
        )
        for at, placed in enumerate(done.placed)
        for claim, result in zip(claims, placed.results, strict=True)
    )
    after = replace(world.snapshot, claims=(*world.snapshot.claims, *held))
    carry_index(world.snapshot, after)
    counts: dict[str, int] = {}
    for placed in done.placed:
        counts[placed.node.name] = counts.get(placed.node.name, 0) + 1
    world = replace(world, snapshot=after)
    stopped = ""
    if done.broken is not None:
        stopped = str(done.broken)
    elif len(done.placed) < count and done.is_lower_bound:
        stopped = "The search was cut off before it came to an end."
    elif len(done.placed) < count:
        stopped = explain_misfit(
            index_of(after), claims, nodes=nodes, left_out=world.unusable
        ).headline
    return world, Added(count, len(done.placed), folded(counts), stopped)


def folded(counts: Mapping[str, int]) -> tuple[Places, ...]:
    """Fold nodes that take equally many; those that take the most come first."""
    by_count: dict[int, list[str]] = {}
    for name, count in counts.items():
        by_count.setdefault(count, []).append(name)
    return tuple(
        Places(count, tuple(sorted(by_count[count]))) for count in sorted(by_count, reverse=True)
    )
