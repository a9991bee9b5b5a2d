"""Lines of a scenario file and their answers: each row of the tables in scenarios.md."""

import json

import pytest

from dra_console.allocator.command import scenario as scenario_module
from dra_console.allocator.command.scenario import Scenario, answer, answer_to
from dra_console.allocator.model import Json, JsonObject, Snapshot
from dra_console.allocator.outcomes import BudgetExhausted
from dra_console.allocator.rules import DEFAULT_FEATURES, Feature, Rules
from dra_console.allocator.search.first_fit import FirstFit
from dra_console.allocator.world.index import Index, index_of
from tests.builders.objects import a_taint_rule
from tests.unit.allocator.golden_cases import inside
from tests.unit.allocator.worlds import CLASSES, NODES, claim, dev, pool, r, used


def a_line(*objects: JsonObject, nodes: list[JsonObject] | None = None, **fields: Json) -> str:
    world = [*(NODES if nodes is None else nodes), *CLASSES, *objects]
    return json.dumps({"id": "s-1", "objects": world, **fields})


def reply(
    *objects: JsonObject, nodes: list[JsonObject] | None = None, **fields: Json
) -> JsonObject:
    return answer_to(a_line(*objects, nodes=nodes, **fields))


def devices(answered: JsonObject) -> dict[str, list[str]]:
    """Write each claim's devices as `pool/device`."""
    assert answered["outcome"] == "allocated", answered
    allocations = answered["allocations"]
    assert isinstance(allocations, dict)
    found: dict[str, list[str]] = {}
    for key, allocation in allocations.items():
        results = inside(allocation, "devices", "results")
        assert isinstance(results, list)
        found[key] = [f"{inside(each, 'pool')}/{inside(each, 'device')}" for each in results]
    return found


def test_an_answer_has_id_outcome_node_allocations_and_micros() -> None:
    answered = reply(pool("p", "x"), claim(r()))

    micros = answered.pop("micros")
    assert isinstance(micros, int)
    assert micros > 0
    assert answered == {
        "id": "s-1",
        "outcome": "allocated",
        "node": "n",
        "allocations": {
            "t/c": {
                "devices": {
                    "results": [{"request": "r", "driver": "a", "pool": "p", "device": "x"}]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n"]}
                            ]
                        }
                    ]
                },
            }
        },
    }


def test_named_claims_are_allocated_in_the_order_in_which_they_are_named() -> None:
    world = [pool("p", "x", "y"), claim(r(), name="first"), claim(r(), name="second")]

    answered = reply(*world, claims=["t/second", "t/first"])

    assert devices(answered) == {"t/second": ["p/x"], "t/first": ["p/y"]}


def test_a_claim_that_is_not_named_gets_nothing() -> None:
    world = [pool("p", "x", "y"), claim(r(), name="first"), claim(r(), name="second")]

    assert devices(reply(*world, claims=["t/second"])) == {"t/second": ["p/x"]}


def test_without_names_all_pending_claims_are_of_one_pod_in_the_order_of_the_objects() -> None:
    world = [claim(r(), name="first"), pool("p", "x", "y"), used("p/x"), claim(r(), name="second")]

    assert reply(*world)["outcome"] == "unallocatable"
    assert devices(reply(*world[1:])) == {"t/second": ["p/y"]}


def test_a_named_claim_that_is_not_there_is_an_error() -> None:
    answered = reply(pool("p", "x"), claims=["t/other"])

    assert answered["outcome"] == "error"
    assert answered["error"] == "claims: claim t/other is not among the objects"


def test_a_claim_without_a_namespace_is_in_the_default_one() -> None:
    homeless = claim(r()) | {"metadata": {"name": "c"}}

    assert devices(reply(pool("p", "x"), homeless, claims=["default/c"])) == {"default/c": ["p/x"]}


def test_nodes_are_tried_in_the_order_of_the_objects() -> None:
    world = [pool("p", "x", node="n"), pool("q", "y", node="m"), claim(r())]

    assert reply(*world)["node"] == "n"
    assert reply(*world, nodes=list(reversed(NODES)))["node"] == "m"


def test_only_the_given_node_is_tried() -> None:
    world = [pool("p", "x", node="n"), pool("q", "y", node="m"), claim(r())]

    assert reply(*world, node="m")["node"] == "m"
    assert reply(*world[1:], node="n")["outcome"] == "unallocatable"


def test_a_node_that_is_not_there_is_an_error() -> None:
    assert "node z is not among" in str(reply(claim(r()), node="z")["error"])


def test_without_nodes_nothing_fits() -> None:
    assert reply(pool("p", "x"), claim(r()), nodes=[])["outcome"] == "unallocatable"


def test_features_that_are_not_given_are_those_of_the_newest_release() -> None:
    assert Scenario.decode(a_line()).rules.features == DEFAULT_FEATURES


@pytest.mark.parametrize(
    ("names", "features"),
    [
        ([], set()),
        (["DRAConsumableCapacity"], {Feature.CONSUMABLE_CAPACITY}),
        (["DRAResourceClaimDeviceStatus", "DRADeviceTaints"], {Feature.DEVICE_TAINTS}),
        ([each.value for each in Feature], set(Feature)),
    ],
)
def test_given_features_are_exactly_those_that_are_on(
    names: list[Json], features: set[Feature]
) -> None:
    assert Scenario.decode(a_line(features=names)).rules.features == features


def test_a_feature_that_does_not_exist_is_an_error() -> None:
    assert "no feature gate 'Typo'" in str(reply(features=["Typo"])["error"])


def test_missing_fields_take_the_servers_defaults() -> None:
    bare: JsonObject = {
        "name": "r",
        "exactly": {"deviceClassName": "A", "tolerations": [{"key": "k", "value": "v"}]},
    }
    tainted = dev("x", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])

    answered = reply(pool("p", tainted, "y"), claim(bare))

    assert devices(answered) == {"t/c": ["p/x"]}
    result = inside(answered, "allocations", "t/c", "devices", "results")
    assert isinstance(result, list)
    assert inside(result[0], "tolerations") == [{"key": "k", "operator": "Equal", "value": "v"}]


def test_taint_rules_count() -> None:
    rule = a_taint_rule(taint={"key": "k", "effect": "NoSchedule"}, device="x")

    assert devices(reply(pool("p", "x", "y"), rule, claim(r()))) == {"t/c": ["p/y"]}


def test_a_share_has_an_id_and_its_consumption() -> None:
    shared = dev("x", mem="10Gi", allowMultipleAllocations=True)

    answered = reply(pool("p", shared), claim(r(capacity={"requests": {"memory": "4Gi"}})))

    results = inside(answered, "allocations", "t/c", "devices", "results")
    assert isinstance(results, list)
    assert inside(results[0], "consumedCapacity") == {"memory": "4Gi"}
    assert inside(results[0], "shareID")


def test_no_claims_fit_on_the_first_node() -> None:
    answered = reply(claims=[])

    assert (answered["outcome"], answered["node"], answered["allocations"]) == (
        "allocated",
        "n",
        {},
    )


def test_a_node_that_does_not_fit_is_not_fatal() -> None:
    invalid = [pool("p", "x", "x", node="n"), pool("q", "y", node="m")]

    assert reply(*invalid, claim(r()))["node"] == "m"


def test_a_selector_that_fails_ends_the_walk_over_nodes() -> None:
    fails = r("r", "A", 'device.attributes["a"].missing == 1')

    answered = reply(pool("p", "x", node="n"), pool("q", "y", node="m"), claim(fails))

    assert answered["outcome"] == "error"
    assert "t/c" in str(answered["error"])
    assert "missing" in str(answered["error"])
    assert "node" not in answered


def test_an_exhausted_budget_is_an_outcome_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def tired(*_args: object, **_kwargs: object) -> FirstFit:
        return FirstFit(None, BudgetExhausted(5), 1)

    monkeypatch.setattr(scenario_module, "first_fit", tired)

    answered = reply(pool("p", "x"), claim(r()))

    assert set(answered) == {"id", "outcome", "micros"}
    assert answered["outcome"] == "budget"


def test_every_answer_is_made_with_a_cold_index(monkeypatch: pytest.MonkeyPatch) -> None:
    indexed: list[Snapshot] = []

    def watched(snapshot: Snapshot, *, rules: Rules) -> Index:
        indexed.append(snapshot)
        return index_of(snapshot, rules=rules)

    monkeypatch.setattr(scenario_module, "index_of", watched)
    decoded = Scenario.decode(a_line(pool("p", "x"), claim(r())))

    first, second = answer(decoded), answer(decoded)

    assert first["allocations"] == second["allocations"]
    assert indexed[0] is not indexed[1]
