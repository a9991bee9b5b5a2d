"""Rules for claims and templates, as a store holds them."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.unit.devcluster.things import (
    LAB,
    a_consumer,
    an_allocation,
    fields_refused,
    metadata,
    new_claim,
    new_namespace,
    with_status,
)


def reserved_claim(store: Store) -> JsonObject:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    return with_status(store, claim, allocation=an_allocation(), reservedFor=[a_consumer()])


def test_claim_gets_mode_count_and_toleration_operator(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim(tolerations=[{"key": "a"}]))

    (request,) = inside(claim, "spec", "devices").children("requests")
    assert request.raw["exactly"] == {
        "deviceClassName": "gpu.nvidia.com",
        "allocationMode": "ExactCount",
        "count": 1,
        "tolerations": [{"key": "a", "operator": "Equal"}],
    }


def test_claim_for_all_devices_gets_no_count(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim(allocationMode="All"))

    (request,) = inside(claim, "spec", "devices").children("requests")
    assert "count" not in inside(request.raw, "exactly").raw


def test_status_of_a_new_claim_is_dropped(store: Store) -> None:
    claim = new_claim()
    claim["status"] = {"allocation": an_allocation()}

    assert store.create(RESOURCE_CLAIMS, claim)["status"] == {}


def test_update_of_a_claim_leaves_its_status(store: Store) -> None:
    claim = reserved_claim(store)

    updated = store.update(RESOURCE_CLAIMS, {**claim, "status": {}})

    assert updated["status"] == claim["status"]


def test_status_update_leaves_metadata_and_spec(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    changed: JsonObject = {
        "metadata": {**metadata_of(claim), "labels": {"a": "b"}},
        "spec": {},
        "status": {"allocation": an_allocation()},
    }

    updated = store.update(RESOURCE_CLAIMS, changed, subresource="status")

    assert updated["spec"] == claim["spec"]
    assert "labels" not in metadata_of(updated)
    assert updated["status"] == {"allocation": an_allocation()}


def test_spec_of_a_claim_cannot_change(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    changed = {**claim, "spec": new_claim(count=2)["spec"]}

    assert fields_refused(lambda: store.update(RESOURCE_CLAIMS, changed)) == [
        ("spec", "FieldValueInvalid")
    ]


def test_claim_sent_again_without_its_defaults_is_unchanged(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    again = store.update(RESOURCE_CLAIMS, new_claim())

    assert metadata_of(again)["resourceVersion"] == metadata_of(claim)["resourceVersion"]


def test_spec_of_a_template_cannot_change(store: Store) -> None:
    template: JsonObject = {"metadata": metadata("t"), "spec": {"spec": new_claim()["spec"]}}
    store.create(RESOURCE_CLAIM_TEMPLATES, template)

    template["spec"] = {"spec": new_claim(count=2)["spec"]}

    assert fields_refused(lambda: store.update(RESOURCE_CLAIM_TEMPLATES, template)) == [
        ("spec", "FieldValueInvalid")
    ]


def test_allocation_cannot_change_while_it_is_set(store: Store) -> None:
    claim = reserved_claim(store)

    assert fields_refused(
        lambda: with_status(
            store, claim, allocation=an_allocation("gpu-1"), reservedFor=[a_consumer()]
        )
    ) == [("status.allocation", "FieldValueInvalid")]


def test_allocation_can_be_cleared_and_set_anew(store: Store) -> None:
    claim = with_status(store, reserved_claim(store))

    again = with_status(store, claim, allocation=an_allocation("gpu-1"))

    assert inside(again, "status").raw == {"allocation": an_allocation("gpu-1")}


def test_reservation_needs_an_allocation(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    assert fields_refused(lambda: with_status(store, claim, reservedFor=[a_consumer()])) == [
        ("status.reservedFor", "FieldValueForbidden")
    ]


def test_clearing_the_allocation_of_a_reserved_claim_is_refused(store: Store) -> None:
    claim = reserved_claim(store)

    assert fields_refused(lambda: with_status(store, claim, reservedFor=[a_consumer()])) == [
        ("status.reservedFor", "FieldValueForbidden")
    ]


def test_claim_takes_256_consumers_and_no_more(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    consumers: list[Json] = [a_consumer(uid=f"uid-{number}") for number in range(257)]

    assert fields_refused(
        lambda: with_status(store, claim, allocation=an_allocation(), reservedFor=consumers)
    ) == [("status.reservedFor", "FieldValueTooMany")]
    with_status(store, claim, allocation=an_allocation(), reservedFor=consumers[:256])


def test_consumer_cannot_be_named_twice(store: Store) -> None:
    claim = reserved_claim(store)

    assert fields_refused(
        lambda: with_status(
            store,
            claim,
            allocation=an_allocation(),
            reservedFor=[a_consumer(), a_consumer("other")],
        )
    ) == [("status.reservedFor[1]", "FieldValueDuplicate")]


def test_claim_being_deleted_takes_no_new_consumer_but_loses_old_ones(store: Store) -> None:
    new = new_claim()
    metadata_of(new)["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    claim = store.create(RESOURCE_CLAIMS, new)
    with_status(store, claim, allocation=an_allocation(), reservedFor=[a_consumer()])
    deleted = store.delete(RESOURCE_CLAIMS, LAB, "gpu")

    assert fields_refused(
        lambda: with_status(
            store,
            deleted,
            allocation=an_allocation(),
            reservedFor=[a_consumer(), a_consumer("b", "uid-2")],
        )
    ) == [("status.reservedFor", "FieldValueForbidden")]
    with_status(store, deleted, allocation=an_allocation(), reservedFor=[])


def test_result_must_name_a_request_of_the_claim(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    allocation: JsonObject = {
        "devices": {"results": [{"request": "other", "driver": "d", "pool": "p", "device": "x"}]}
    }

    assert fields_refused(lambda: with_status(store, claim, allocation=allocation)) == [
        ("status.allocation.devices.results[0].request", "FieldValueInvalid")
    ]


def test_claim_holds_32_devices_at_most(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    results: list[Json] = [
        {"request": "gpu", "driver": "d", "pool": "p", "device": f"x{number}"}
        for number in range(33)
    ]

    assert fields_refused(
        lambda: with_status(store, claim, allocation={"devices": {"results": results}})
    ) == [("status.allocation.devices.results", "FieldValueTooMany")]


def test_device_status_is_for_allocated_devices_and_goes_with_them(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    report: JsonObject = {"driver": "gpu.nvidia.com", "pool": "gpu-01", "device": "gpu-0"}

    assert fields_refused(
        lambda: with_status(
            store,
            claim,
            allocation=an_allocation(),
            devices=[{**report, "device": "gpu-7"}],
        )
    ) == [("status.devices[0]", "FieldValueInvalid")]
    claim = with_status(store, claim, allocation=an_allocation(), devices=[report])
    cleared = with_status(store, claim, devices=[report])
    assert cleared["status"] == {}


def test_admin_access_needs_the_label_on_the_namespace(store: Store) -> None:
    label = "resource.kubernetes.io/admin-access"
    store.create(NAMESPACES, new_namespace("wrong", **{label: "True"}))
    store.create(NAMESPACES, new_namespace("right", **{label: "true"}))
    claim = new_claim(adminAccess=True)

    for namespace in (LAB, "wrong"):
        claim["metadata"] = metadata("gpu", namespace)
        assert fields_refused(lambda: store.create(RESOURCE_CLAIMS, claim)) == [
            ("spec.devices.requests[0].adminAccess", "FieldValueForbidden")
        ]
    claim["metadata"] = metadata("gpu", "right")
    store.create(RESOURCE_CLAIMS, claim)


def test_admin_access_in_a_template_needs_the_label_too(store: Store) -> None:
    template: JsonObject = {
        "metadata": metadata("t"),
        "spec": {"spec": new_claim(adminAccess=True)["spec"]},
    }

    assert fields_refused(lambda: store.create(RESOURCE_CLAIM_TEMPLATES, template)) == [
        ("spec.devices.requests[0].adminAccess", "FieldValueForbidden")
    ]


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [
        ({"deviceClassName": ""}, "spec.devices.requests[0].exactly.deviceClassName"),
        ({"count": -1}, "spec.devices.requests[0].exactly.count"),
        (
            {"selectors": [{"cel": {"expression": "device.driver == \u201ca\u201d"}}]},
            "spec.devices.requests[0].exactly.selectors[0].cel.expression",
        ),
        ({"colour": "red"}, "spec.devices.requests[0].exactly.colour"),
    ],
)
def test_claim_is_refused_with_the_field_as_a_form_would(
    store: Store, request_fields: JsonObject, field: str
) -> None:
    refused = fields_refused(
        lambda: store.create(RESOURCE_CLAIMS, new_claim(fields=request_fields))
    )

    assert [path for path, _ in refused] == [field]
