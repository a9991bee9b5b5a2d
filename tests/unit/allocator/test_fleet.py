"""A cluster that changes, and where claims fit in it."""

from dataclasses import replace
from itertools import product

import pytest

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.inventory import PoolId
from dra_console.allocator.model import Json, JsonObject, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, DoesNotFit
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.search.search import DEFAULT_STEP_BUDGET
from dra_console.allocator.world.bookings import Bookings, usage_of
from dra_console.allocator.world.index import index_of
from tests.builders.objects import a_class, a_counter_set, a_node, an_object
from tests.unit.allocator.alike_worlds import ALTERATIONS, a_body, altered
from tests.unit.allocator.plain_first_fit import comparable, plain_first_fit
from tests.unit.allocator.worlds import claim, dev, every, pool, r, snapshot, used

ONE = decode_claim(claim(r()))
QUESTIONS = {
    "one": claim(r()),
    "three": claim(r(count=3)),
    "big": claim(r("r", "A", 'device.attributes["a"].model == "big"', count=2)),
    "memory": claim(r(capacity={"requests": {"memory": "2"}}, count=2)),
    "all": claim(every()),
    "admin": claim(r(adminAccess=True, count=2)),
    "tolerating": claim(r(tolerations=[{"operator": "Exists"}], count=2)),
    "matching": claim(r(count=2), match=[("a/numa", [])]),
    "shares": claim(r("r0", "As"), r("r1", "As")),
}


def fleet(*world: JsonObject) -> Fleet:
    return Fleet(snapshot(*world))


def where(found: Fleet, asked: ResourceClaim = ONE) -> str | None:
    node = found.first_fit([asked]).node
    return node.name if node else None


def take(found: Fleet, asked: ResourceClaim, name: str) -> None:
    outcome = found.first_fit([asked]).outcome
    assert isinstance(outcome, Allocated)
    found.put_claim(replace(asked, name=name, allocation=outcome.results[0]))


def test_devices_that_claims_hold_are_gone_until_the_claims_are() -> None:
    found = fleet(pool("p", "x"), pool("q", "x", node="m"))

    take(found, ONE, "first")
    assert where(found) == "m"
    take(found, ONE, "second")
    assert where(found) is None
    found.remove_claim("t/first")
    assert where(found) == "n"


def test_a_claim_that_lost_its_allocation_holds_nothing() -> None:
    found = fleet(pool("p", "x"))

    take(found, ONE, "first")
    found.put_claim(replace(ONE, name="first", allocation=None))

    assert where(found) == "n"


def test_a_device_of_two_holders_is_free_after_both() -> None:
    found = fleet(pool("p", "x"), used("p/x"), {**used("p/x"), **renamed(used("p/x"))})

    found.remove_claim("t/used-1-p-x")
    assert where(found) is None
    found.remove_claim("t/other")
    assert where(found) == "n"


def renamed(one: JsonObject) -> JsonObject:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return {"metadata": metadata | {"name": "other"}}


def test_what_all_nodes_see_is_gone_for_all_of_them() -> None:
    found = fleet(pool("p", "x", node=None, allNodes=True))

    assert where(found) == "n"
    take(found, ONE, "first")
    assert where(found) is None


def test_a_slice_that_comes_changes_and_goes_is_followed() -> None:
    found = fleet()

    assert where(found) is None
    found.put_slice(decode_slice(pool("p", "x", node="m")))
    assert where(found) == "m"
    found.put_slice(decode_slice(pool("p", "x", node="m", driver="b", slice_name="a-p-1-1-m")))
    assert where(found) is None
    found.remove_slice("a-p-1-1-m")
    found.remove_slice("a-p-1-1-m")
    assert where(found, decode_claim(claim(r("r", "B")))) is None


def test_a_node_that_does_not_fit_when_free_is_left_out_until_it_is_another_one() -> None:
    nodes = [a_node(name) for name in ("n", "m")]
    big = decode_claim(claim(r("r", "A", 'device.attributes["a"].model == "big"')))
    found = fleet(*nodes, model_of("small", node="n"), model_of("big", node="m"))

    assert where(found, big) == "m"
    take(found, ONE, "first")
    found.remove_claim("t/first")
    assert where(found, big) == "m"
    found.put_slice(decode_slice(model_of("big", node="n")))
    assert where(found, big) == "n"
    found.put_slice(decode_slice(model_of("small", node="n")))
    assert where(found, big) == "m"


def model_of(model: str, *, node: str) -> JsonObject:
    return pool(f"p-{node}", dev("x", attributes={"model": {"string": model}}), node=node)


def test_a_newer_generation_elsewhere_makes_a_pool_outdated() -> None:
    found = fleet(pool("p", "x", part="1/2"), pool("p", "y", part="2/2", node="m"))

    assert where(found) == "n"
    found.put_slice(decode_slice(pool("p", "y", part="2/2", node="m", generation=2)))
    assert where(found) is None


def test_a_class_that_changes_is_a_new_question() -> None:
    found = fleet(pool("p", "x"))

    assert where(found) == "n"
    found.put_class(decode_class(a_class("A", driver="b")))
    assert where(found) is None
    found.remove_class("A")
    assert isinstance(found.first_fit([ONE]).outcome, BrokenInput)


def test_nodes_keep_their_order_and_leave_gaps() -> None:
    found = fleet(pool("p", "x"), pool("q", "x", node="m"), pool("r", "x", node="o"), used("q/x"))

    found.put_node(decode_node(a_node("o")))
    found.remove_node("n")
    found.remove_node("n")

    answer = found.first_fit([ONE])
    assert answer.node is not None
    assert (answer.node.name, answer.tried) == ("o", 2)


def test_labels_of_a_node_decide_what_it_sees() -> None:
    terms: list[Json] = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z3"]}]}
    ]
    found = fleet(pool("p", "x", node=None, nodeSelector={"nodeSelectorTerms": terms}))

    assert where(found) is None
    found.put_node(decode_node(a_node("m", zone="z3")))
    assert where(found) == "m"


def test_a_taint_rule_holds_while_it_is_there() -> None:
    rule = an_object(
        "DeviceTaintRule",
        "rule",
        spec={
            "deviceSelector": {"pool": "p"},
            "taint": {"key": "k", "value": "v", "effect": "NoSchedule"},
        },
    )
    found = fleet(pool("p", "x"), pool("q", "x", node="m"))
    take(found, ONE, "first")
    found.remove_claim("t/first")

    found.put_taint_rule(decode_taint_rule(rule))
    assert where(found) == "m"
    found.remove_taint_rule("rule")
    assert where(found) == "n"


def test_invalid_pools_of_all_nodes_are_named_every_time() -> None:
    found = fleet(pool("p", "x", "x"), pool("q", "y", "y", node="m"))

    for _ in range(2):
        outcome = found.first_fit([ONE]).outcome
        assert isinstance(outcome, DoesNotFit)
        assert [str(pool_id) for pool_id, _ in outcome.invalid_pools] == ["a/p", "a/q"]


@pytest.mark.parametrize("is_altered_first", [False, True])
@pytest.mark.parametrize(("alteration", "question"), [*product(ALTERATIONS, QUESTIONS)])
@pytest.mark.parametrize("held", [(), (0,), (2, 3)])
def test_one_thing_about_one_device_makes_a_node_another_case(
    alteration: str, question: str, held: tuple[int, ...], is_altered_first: bool
) -> None:
    plain = [a_body(f"gpu-{at}", "1") for at in range(4)]
    other = [altered(plain[0], alteration), *plain[1:]]
    boards: list[Json] = [a_counter_set("board", {"memory": "4"})]
    world = []
    order = (other, plain) if is_altered_first else (plain, other)
    for name, devices in zip("nm", order, strict=True):
        world += [
            pool(name, node=name, part="1/2", slice_name=f"b-{name}", sharedCounters=boards),
            pool(name, *devices, node=name, part="2/2"),
            *(used(f"{name}/gpu-{at}") for at in held),
        ]
    found = fleet(*world)
    asked = [decode_claim(QUESTIONS[question])]

    found.first_fit(asked)
    found.remove_node("n")

    left = found.snapshot()
    expected = plain_first_fit(
        index_of(left), asked, nodes=left.nodes, step_budget=DEFAULT_STEP_BUDGET
    )
    assert comparable(found.first_fit(asked)) == comparable(expected)


@pytest.mark.parametrize("order", [("shareable", "policy"), ("policy", "shareable")])
def test_amounts_of_shared_devices_make_a_node_another_case(order: tuple[str, str]) -> None:
    found = fleet(
        *(
            pool(name, altered(a_body("gpu-0", None), alteration), node=name)
            for name, alteration in zip("nm", order, strict=True)
        )
    )
    asked = [decode_claim(QUESTIONS["shares"])]

    found.first_fit(asked)
    found.remove_node(found.snapshot().nodes[0].name)

    left = found.snapshot()
    expected = plain_first_fit(
        index_of(left), asked, nodes=left.nodes, step_budget=DEFAULT_STEP_BUDGET
    )
    assert comparable(found.first_fit(asked)) == comparable(expected)


def test_bookings_are_what_remains_of_all_claims() -> None:
    share = "00000000-0000-4000-8000-000000000001"
    claims = [
        decode_claim({**used("p/x"), **renamed(used("p/x"))}),
        decode_claim(used("p/x", "p/y")),
        decode_claim(used("p/z", shareID=share, consumedCapacity={"memory": "1Gi"})),
        decode_claim(used("q/z", "p/z", shareID=share, consumedCapacity={"memory": "2Gi"})),
        decode_claim(used("p/w", adminAccess=True)),
    ]
    kept = Bookings(claims)

    for gone in claims[:3]:
        kept.release(gone)

    assert kept.usage == usage_of(claims[3:])
    assert kept.is_used(PoolId("a", "p"))
    kept.release(claims[3])
    assert not kept.usage.booked
    assert not kept.is_used(PoolId("a", "p"))
