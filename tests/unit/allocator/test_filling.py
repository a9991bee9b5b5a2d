"""Laws of filling: counts are those of pods that are placed one by one, until none fits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated, BrokenInput
from dra_console.allocator.search.filling import PODS_A_NODE, fill
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.index import index_of
from tests.unit.allocator import alike_worlds
from tests.unit.allocator.plain_first_fit import plain_first_fit
from tests.unit.allocator.worlds import snapshot

ENOUGH = 40
"""Pods placed one by one; all devices of these worlds together are fewer."""


def one_by_one(start: Snapshot, claims: Sequence[ResourceClaim]) -> tuple[Counter[str], bool]:
    """Count pods by node, and tell whether something broken ended it."""
    counts: Counter[str] = Counter()
    now = start
    while counts.total() < ENOUGH:
        found = plain_first_fit(
            index_of(now), claims, nodes=now.nodes, step_budget=DEFAULT_STEP_BUDGET
        )
        if found.node is None or not isinstance(found.outcome, Allocated):
            return counts, isinstance(found.outcome, BrokenInput)
        counts[found.node.name] += 1
        taken = [
            replace(each, name=f"pod-{counts.total()}-{each.name}", allocation=result)
            for each, result in zip(claims, found.outcome.results, strict=True)
        ]
        now = replace(now, claims=(*now.claims, *taken))
    return counts, False


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    alike_worlds.worlds(),
    st.lists(alike_worlds.holders(), max_size=6),
    st.lists(alike_worlds.claims(), min_size=1, max_size=2),
)
def test_a_filling_places_what_a_scheduler_would_place_pod_by_pod(
    objects: list[JsonObject], holders: list[JsonObject], asked: list[JsonObject]
) -> None:
    world = snapshot(*objects, *holders)
    claims = [decode_claim(each) for each in asked]

    filled = fill(index_of(world), [claims])
    counts, is_broken = one_by_one(world, claims)

    if counts.total() >= ENOUGH:
        assert filled.is_lower_bound
        assert filled.count() >= min(ENOUGH, PODS_A_NODE)
    else:
        assert not filled.is_lower_bound
        assert filled.counts_by_node() == counts
        assert (filled.broken is not None) == is_broken


@pytest.mark.long
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(alike_worlds.worlds(), st.lists(alike_worlds.claims(), min_size=1, max_size=2))
def test_what_a_filling_hands_out_can_stand_side_by_side(
    objects: list[JsonObject], asked: list[JsonObject]
) -> None:
    world = snapshot(*objects)
    claims = [decode_claim(each) for each in asked]

    handed_out = [
        each.device_id
        for placed in fill(index_of(world), [claims]).placed()
        for result in placed.results
        for each in result.results
        if each.share_id is None and not each.admin_access
    ]

    assert len(handed_out) == len(set(handed_out))
