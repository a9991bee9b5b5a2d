"""An index that is carried from one snapshot to the next, as far as both say the same."""

from dataclasses import replace

import pytest

from dra_console.allocator.model import Snapshot
from dra_console.allocator.rules import Feature
from dra_console.allocator.world.index import carry_index, index_of
from tests.builders.objects import a_taint_rule
from tests.unit.allocator.alike_worlds import SHARE
from tests.unit.allocator.worlds import pool, snapshot, used, without_gates

BEFORE = snapshot(pool("p", "x"), a_taint_rule())


@pytest.mark.parametrize("kind", ["nodes", "slices", "classes", "taint_rules"])
def test_an_index_is_not_carried_to_a_snapshot_that_differs_in_more_than_claims(kind: str) -> None:
    before = replace(BEFORE, claims=())
    known = index_of(before)
    after: Snapshot = replace(before, **{kind: ()})

    carry_index(before, after)

    assert index_of(after).inventory is not known.inventory


def test_claims_are_counted_by_the_rules_of_each_index() -> None:
    """Without the gate a share holds the whole device."""
    before = replace(BEFORE, claims=())
    shares = snapshot(used("p/x", shareID=SHARE, consumedCapacity={"memory": "1"})).claims
    all_rules = (without_gates(), without_gates(Feature.CONSUMABLE_CAPACITY))
    known = [index_of(before, rules=rules) for rules in all_rules]
    after = replace(before, claims=shares)

    carry_index(before, after)

    carried = [index_of(after, rules=rules) for rules in all_rules]
    assert [each.inventory for each in carried] == [each.inventory for each in known]
    assert [bool(each.usage.holders) for each in carried] == [False, True]
