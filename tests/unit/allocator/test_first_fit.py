"""The first node on which all claims of a pod fit."""

from collections.abc import Sequence

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, DoesNotFit
from dra_console.allocator.search.first_fit import FirstFit, first_fit
from dra_console.allocator.world.index import index_of
from tests.builders.objects import a_node
from tests.unit.allocator.plain_first_fit import comparable, plain_first_fit
from tests.unit.allocator.worlds import claim, every, pool, r, snapshot, used


def first(claims: Sequence[JsonObject], *world: JsonObject, step_budget: int = 1000) -> FirstFit:
    return first_fit(
        index_of(snapshot(*world)),
        [decode_claim(each) for each in claims],
        step_budget=step_budget,
    )


def test_the_first_node_in_order_that_fits_wins() -> None:
    answer = first([claim(r())], pool("p", "x"), pool("q", "x", node="m"), used("p/x"), a_node("o"))

    assert isinstance(answer.outcome, Allocated)
    assert answer.node is not None
    assert (answer.node.name, answer.tried) == ("m", 2)
    assert [each.pool for each in answer.outcome.results[0].results] == ["q"]


def test_without_a_fit_every_node_was_tried() -> None:
    answer = first([claim(r())], pool("p", "x"), used("p/x"))

    assert isinstance(answer.outcome, DoesNotFit)
    assert (answer.node, answer.tried) == (None, 2)


def test_broken_input_ends_the_walk() -> None:
    answer = first([claim(every())], pool("p", "x", part="1/2"), pool("q", "x", node="m"))

    assert isinstance(answer.outcome, BrokenInput)
    assert (answer.node, answer.tried) == (None, 1)


def test_an_invalid_pool_on_one_node_leaves_the_others() -> None:
    world = [pool("p", "x", "x"), pool("q", "x", node="m")]

    assert isinstance(first([claim(r())], *world).outcome, Allocated)
    nowhere = first([claim(r())], *world, used("q/x")).outcome
    assert isinstance(nowhere, DoesNotFit)
    assert [str(pool_id) for pool_id, _ in nowhere.invalid_pools] == ["a/p"]


def test_a_node_out_of_steps_leaves_the_others() -> None:
    many = pool("p", *(f"x{number}" for number in range(20)))
    nowhere = claim(r("r", "A", 'device.attributes["a"].?none.hasValue()'))
    one = claim(r("r", "E", 'device.driver == "b"'))

    answer = first([one], many, pool("q", "x", driver="b", node="m"), step_budget=10)
    assert isinstance(answer.outcome, Allocated)
    assert isinstance(first([nowhere], many, step_budget=10).outcome, BudgetExhausted)


def test_what_is_known_of_nodes_holds_whichever_are_asked_for() -> None:
    """Of nodes that are named one by one, in any order, as of all of them."""
    many = [f"x{number}" for number in range(20)]
    world = snapshot(
        pool("p", *many), pool("q", "x", driver="b", node="m"), pool("r", "x", "x", node="m")
    )
    index = index_of(world)
    nodes = world.nodes[::-1]
    asked = [decode_claim(claim(r("r", "A", 'device.attributes["a"].?none.hasValue()')))]

    for step_budget in (10, 1000):
        expected = plain_first_fit(index, asked, nodes=nodes, step_budget=step_budget)
        for _ in range(2):
            found = first_fit(index, asked, nodes=nodes, step_budget=step_budget)
            assert comparable(found) == comparable(expected)
