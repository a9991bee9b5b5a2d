"""What may change: spec, status and reservations (`dra-semantics.md` 1.5, 1.7, 1.8, 6.13)."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_slice,
    validate_template,
)
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_template,
    an_allocation,
)

TOO_LONG = "x" * 10_241


def fields(errors: tuple[FieldError, ...]) -> list[tuple[str, str]]:
    return [(each.field, each.reason.removeprefix("FieldValue")) for each in errors]


def a_consumer(number: int = 0, **more: Json) -> JsonObject:
    return {"resource": "pods", "name": f"p{number}", "uid": f"u{number}", **more}


def a_status(*consumers: int, device: str | None = "gpu-0") -> JsonObject:
    reserved: list[Json] = [a_consumer(each) for each in consumers]
    allocation = {} if device is None else {"allocation": an_allocation(a_result(device))}
    return {**allocation, **({"reservedFor": reserved} if reserved else {})}


def changed(new: JsonObject, old: JsonObject, **metadata: Json) -> list[tuple[str, str]]:
    claim = a_claim()
    before = claim["metadata"]
    assert isinstance(before, dict)
    stored = claim | {"metadata": before | metadata, "status": old}
    return fields(validate_claim_status(claim | {"status": new}, stored=stored))


PENDING: JsonObject = {}
DELETING = "2026-01-01T00:00:00Z"


def test_184_nobody_can_reserve_a_claim_without_an_allocation() -> None:
    assert changed(a_status(1, device=None), PENDING) == [("status.reservedFor", "Forbidden")]
    assert changed(a_status(1), PENDING) == []


def test_185_an_allocation_does_not_change() -> None:
    assert changed(a_status(device="gpu-1"), a_status()) == [("status.allocation", "Invalid")]


@pytest.mark.parametrize("new", [a_status(), a_status(1), {}])
def test_185_an_allocation_may_stay_be_reserved_or_be_cleared(new: JsonObject) -> None:
    assert changed(new, a_status()) == []


def test_185_an_allocation_that_is_spelled_in_another_way_is_the_same() -> None:
    result = a_result("gpu-0")
    old = result | {"consumedCapacity": {"m": "1Gi"}, "tolerations": []}
    new = result | {"consumedCapacity": {"m": "1024Mi"}}

    assert changed({"allocation": an_allocation(new)}, {"allocation": an_allocation(old)}) == []


def test_186_a_claim_has_at_most_256_consumers() -> None:
    assert changed(a_status(*range(256)), a_status()) == []
    assert changed(a_status(*range(257)), a_status()) == [("status.reservedFor", "TooMany")]


def test_186_no_consumer_stands_there_twice() -> None:
    assert changed(a_status(1, 2, 1), a_status()) == [("status.reservedFor[2]", "Duplicate")]


def test_187_a_claim_that_is_being_deleted_takes_no_consumer() -> None:
    old = a_status(1)

    assert changed(a_status(1, 2), old, deletionTimestamp=DELETING) == [
        ("status.reservedFor", "Forbidden")
    ]
    assert changed(a_status(2), old, deletionTimestamp=DELETING) == [
        ("status.reservedFor", "Forbidden")
    ]


@pytest.mark.parametrize("new", [a_status(1), a_status(), {}])
def test_187_a_claim_that_is_being_deleted_may_lose_consumers(new: JsonObject) -> None:
    assert changed(new, a_status(1), deletionTimestamp=DELETING) == []


@pytest.mark.parametrize("count", [1, 3])
def test_188_the_spec_of_a_claim_or_a_template_is_for_ever(count: int) -> None:
    stored, new = [a_request(count=1)], [a_request(count=count)]
    expected = [] if count == 1 else [("spec", "Invalid")]

    assert (
        fields(validate_claim(a_claim(requests=new), stored=a_claim(requests=stored))) == expected
    )
    found = validate_template(a_template(requests=new), stored=a_template(requests=stored))
    assert fields(found) == expected


def test_188_what_the_server_fills_in_is_no_change() -> None:
    sent: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "c", "tolerations": []}}
    kept: JsonObject = {
        "name": "gpu",
        "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1},
    }

    assert validate_claim(a_claim(requests=[sent]), stored=a_claim(requests=[kept])) == ()


def test_188_an_immutable_spec_is_not_looked_at_again() -> None:
    invalid = [a_request("Not-A-Name", count=-1)]

    assert validate_claim(a_claim(requests=invalid), stored=a_claim(requests=invalid)) == ()


def test_selectors_that_are_stored_so_are_not_compiled_again() -> None:
    broken = a_class(selectors=["noSuchVariable"])

    assert validate_class(broken, stored=broken) == ()
    assert fields(validate_class(broken, stored=a_class())) == [
        ("spec.selectors[0].cel.expression", "Invalid")
    ]


def test_selectors_in_another_order_are_new_ones() -> None:
    first, second = "noSuchVariable", "true"

    found = validate_class(
        a_class(selectors=[first, second]), stored=a_class(selectors=[second, first])
    )

    assert fields(found) == [("spec.selectors[0].cel.expression", "Invalid")]


def test_configuration_that_is_stored_may_be_longer_than_what_is_accepted_today() -> None:
    config: list[Json] = [{"opaque": {"driver": "a", "parameters": {"a": TOO_LONG}}}]
    long = a_class(config=config)

    assert validate_class(long, stored=long) == ()
    assert fields(validate_class(long, stored=a_class())) == [
        ("spec.config[0].opaque.parameters", "TooLong")
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"driver": "other.example"}, "spec.driver", id="driver"),
        pytest.param({"nodeName": "other"}, "spec.nodeName", id="node"),
        pytest.param(
            {"pool": {"name": "q", "generation": 1, "resourceSliceCount": 1}},
            "spec.pool.name",
            id="pool",
        ),
    ],
)
def test_a_slice_stays_with_driver_pool_and_node(change: JsonObject, field: str) -> None:
    stored = a_slice()
    spec = stored["spec"]
    assert isinstance(spec, dict)

    found = validate_slice(stored | {"spec": spec | change}, stored=stored)

    assert fields(found) == [(field, "Invalid")]


def test_taints_and_capacities_that_are_stored_so_are_left_alone() -> None:
    bad: JsonObject = a_device(
        taints=[a_taint(effect="Future")],
        capacity={"k": {"value": "1", "requestPolicy": {"default": "1"}}},
    )
    stored = a_slice(devices=[bad])

    assert validate_slice(stored, stored=stored) == ()
    assert fields(validate_slice(stored, stored=a_slice(devices=[a_device("other")]))) == [
        ("spec.devices[0].capacity[k].requestPolicy", "Forbidden"),
        ("spec.devices[0].taints[0].effect", "NotSupported"),
    ]
