"""What the comparison rests on: valid scenarios, a fair comparison, and small examples."""

import pytest

from dra_console.allocator.api_json import JsonObject
from tests.oracle.comparison import differences
from tests.oracle.generator.scenario import SERIES, scenario, scenario_named
from tests.oracle.shrinking import problems, shrunk

SHARE: JsonObject = {
    "request": "r0",
    "driver": "a.io",
    "pool": "p0",
    "device": "dev-0",
    "shareID": "one",
    "consumedCapacity": {"mem": "1Gi"},
}


def allocated(*results: JsonObject, node: str = "n0") -> JsonObject:
    devices: JsonObject = {"results": [*results]}
    allocations: JsonObject = {"team/c0": {"devices": devices}}
    return {"outcome": "allocated", "node": node, "allocations": allocations}


@pytest.mark.parametrize("series", SERIES)
def test_generated_objects_are_such_as_the_api_server_stores(series: str) -> None:
    for number in range(150):
        made = scenario(series, 4, number)

        assert problems(made) == [], made["id"]


@pytest.mark.parametrize("series", SERIES)
def test_a_name_gives_the_same_scenario_for_ever(series: str) -> None:
    made = scenario(series, 4, 2)

    assert scenario_named(f"{series}-4-2") == made
    assert scenario(series, 4, 3) != made


def test_share_ids_and_the_writing_of_quantities_make_no_difference() -> None:
    changes: JsonObject = {"shareID": "two", "consumedCapacity": {"mem": "1024Mi"}}

    assert differences(allocated(SHARE), allocated(SHARE | changes)) == []


def test_fields_that_are_false_or_empty_are_as_good_as_absent() -> None:
    empty: JsonObject = {"adminAccess": False, "tolerations": [], "bindingConditions": None}

    assert differences(allocated(SHARE), allocated(SHARE | empty)) == []


@pytest.mark.parametrize(
    "changes",
    [{"device": "dev-1"}, {"shareID": None}, {"consumedCapacity": {"mem": "2Gi"}}],
)
def test_another_device_amount_or_kind_of_use_is_a_difference(changes: JsonObject) -> None:
    assert differences(allocated(SHARE), allocated(SHARE | changes)) != []


def test_another_order_of_devices_is_a_difference() -> None:
    other = SHARE | {"device": "dev-1"}

    assert differences(allocated(SHARE, other), allocated(other, SHARE)) != []


def test_another_outcome_or_node_is_a_difference() -> None:
    assert differences(allocated(SHARE), {"outcome": "unallocatable"}) != []
    assert differences(allocated(SHARE), allocated(SHARE, node="n1")) != []


def test_a_budget_that_ran_out_is_no_difference() -> None:
    assert differences({"outcome": "budget"}, allocated(SHARE)) == []
    after_one = allocated(SHARE, node="n1") | {"undecided": ["n0"]}
    assert differences(allocated(SHARE), after_one) == []


def test_a_scenario_is_shrunk_to_what_shows_the_difference() -> None:
    made = next(
        made
        for number in range(50)
        if "NoExecute" in str(made := scenario("default", 5, number)["objects"])
    )

    smallest = shrunk({"objects": made}, lambda rest: "NoExecute" in str(rest))

    assert len(str(smallest)) < len(str(made)) / 4
    assert "NoExecute" in str(smallest)
    assert problems(smallest) == []
