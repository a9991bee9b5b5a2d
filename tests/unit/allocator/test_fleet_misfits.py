"""When a node that lacks devices with all of them free says nothing of itself with fewer.

As a rule it does, and a fleet leaves it out. But a search may meet less with more devices: it
learns from failures, and it leaves a branch that grows over a claim's limit before it has
looked at every device.
"""

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_slice
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.outcomes import BrokenInput, BudgetExhausted, DoesNotFit, Outcome
from dra_console.allocator.search.fleet import Fleet
from tests.builders.objects import a_claim, a_node, a_prioritized_request, a_wish
from tests.unit.allocator.alike_worlds import TAINT
from tests.unit.allocator.worlds import claim, dev, pool, r, snapshot, used

STEPS = 1_000
BIG = 'device.attributes["a"].model == "big"'
FLAWED = 'device.attributes["a"].works == true'


def before_and_after(
    asked: JsonObject, devices: list[JsonObject], *, taken: int
) -> tuple[Outcome, Outcome]:
    """Ask about a node with all its devices, and without the first ones."""
    fleet = Fleet(snapshot(pool("p", *devices)))
    claims = [decode_claim(asked)]
    before = fleet.first_fit(claims, step_budget=STEPS).outcome
    fleet.put_claim(decode_claim(used(*(f"p/x{at}" for at in range(taken)))))
    return before, fleet.first_fit(claims, step_budget=STEPS).outcome


def test_a_search_that_failed_too_seldom_to_look_ahead_runs_out_of_steps() -> None:
    devices = [dev(f"x{at}", taints=[TAINT]) for at in range(17)]
    devices += [dev(f"x{at}") for at in range(17, 117)]
    asked = claim(r("one"), r("none", "A", 'device.driver == "b"'))

    before, after = before_and_after(asked, devices, taken=11)

    assert isinstance(before, DoesNotFit)
    assert isinstance(after, BudgetExhausted)


def test_a_search_that_no_longer_ends_by_the_claims_limit_meets_what_is_broken() -> None:
    devices = [dev(f"x{at}", attributes={"works": True}) for at in range(2)]
    devices += [dev(f"x{at}") for at in range(2, 4)]
    two = a_wish(device_class="A", selectors=[FLAWED], count=2)
    one = a_wish(device_class="B")
    asked = a_claim(
        "c",
        namespace="t",
        requests=[a_prioritized_request("r", two=two, one=one), r("rest", "B", count=31)],
    )

    before, after = before_and_after(asked, devices, taken=1)

    assert isinstance(before, DoesNotFit)
    assert isinstance(after, BrokenInput)


@pytest.mark.parametrize("count", [1, 70])
@pytest.mark.parametrize("fields", [{}, {"adminAccess": True}])
def test_a_node_that_has_become_another_is_not_left_out_with_those_it_was_like(
    count: int, fields: dict[str, Json]
) -> None:
    """Neither one by one nor so many at once that all is looked at again."""
    names = [f"m{at}" for at in range(count)]
    fleet = Fleet(snapshot(*map(a_node, names), *(of_model("small", each) for each in names)))
    fleet.put_slice(decode_slice(of_model("small", "n")))
    asked = [decode_claim(claim(r("r", "A", BIG, **fields)))]
    holder = decode_claim(used("n/x"))

    before = fleet.first_fit(asked).node
    for name in names:
        fleet.put_slice(decode_slice(of_model("big", name)))
    fleet.put_claim(holder)
    fleet.remove_claim(holder.key)
    after = fleet.first_fit(asked).node

    assert before is None
    assert after is not None
    assert after.name == "m0"


def of_model(model: str, node: str) -> JsonObject:
    return pool(node, dev("x", attributes={"model": model}), node=node)
