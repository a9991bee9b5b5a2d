from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError, InvalidError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from tests.unit.devcluster.things import (
    LAB,
    a_consumer,
    an_allocation,
    metadata,
    new_claim,
    new_namespace,
    new_pod,
    new_slice,
    with_namespace,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = with_namespace(Store(tmp_path / "cluster.db"))
    yield store
    store.close()


def fields_refused(write: Callable[[], object]) -> list[tuple[str, str]]:
    """Return field and reason of each cause for which a write is refused."""
    with pytest.raises(InvalidError) as refused:
        write()
    return [(cause.field, cause.reason) for cause in refused.value.causes]


def with_status(store: Store, claim: JsonObject, **status: Json) -> JsonObject:
    """Write a claim's status."""
    return store.update(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")


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


@pytest.mark.parametrize("field", ["driver", "nodeName"])
def test_slice_stays_with_its_driver_and_node(store: Store, field: str) -> None:
    store.create(RESOURCE_SLICES, new_slice())

    changed = new_slice(**{field: "other"})

    assert fields_refused(lambda: store.update(RESOURCE_SLICES, changed)) == [
        (f"spec.{field}", "FieldValueInvalid")
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


def test_pod_gets_its_defaults(store: Store) -> None:
    pod = store.create(PODS, new_pod())

    spec = inside(pod, "spec").raw
    assert spec["restartPolicy"] == "Always"
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert pod["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"containers": []}, [("spec.containers", "FieldValueRequired")]),
        ({"containers": None}, [("spec.containers", "FieldValueRequired")]),
        (
            {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]},
            [("spec.containers[1].name", "FieldValueDuplicate")],
        ),
        ({"containers": [{"name": "a"}]}, [("spec.containers[0].image", "FieldValueRequired")]),
        ({"activeDeadlineSeconds": 0}, [("spec.activeDeadlineSeconds", "FieldValueInvalid")]),
        ({"restartPolicy": "Maybe"}, [("spec.restartPolicy", "FieldValueNotSupported")]),
        ({"resourceClaims": [{"name": "gpu"}]}, [("spec.resourceClaims[0]", "FieldValueInvalid")]),
        (
            {
                "resourceClaims": [
                    {"name": "g", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}
                ]
            },
            [("spec.resourceClaims[0]", "FieldValueInvalid")],
        ),
        (
            {
                "containers": [
                    {"name": "a", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
                ]
            },
            [("spec.containers[0].resources.claims[0]", "FieldValueNotFound")],
        ),
    ],
)
def test_pod_is_refused_with_the_field(
    store: Store, fields: JsonObject, refused: list[tuple[str, str]]
) -> None:
    assert fields_refused(lambda: store.create(PODS, new_pod(fields=fields))) == refused


def test_claims_of_a_pod_cannot_change(store: Store) -> None:
    pod = store.create(PODS, new_pod())
    claims: list[Json] = [{"name": "gpu", "resourceClaimName": "a"}]
    changed: JsonObject = {**pod, "spec": {**inside(pod, "spec").raw, "resourceClaims": claims}}

    assert fields_refused(lambda: store.update(PODS, changed)) == [("spec", "FieldValueForbidden")]


def test_image_of_a_container_can_change(store: Store) -> None:
    pod = store.create(PODS, new_pod())
    (container,) = inside(pod, "spec").children("containers")
    container.raw["image"] = "pause:2"

    updated = store.update(PODS, pod)

    assert updated["spec"] == pod["spec"]


def test_field_of_another_type_is_unreadable_and_named(store: Store) -> None:
    with pytest.raises(BadRequestError, match=r"cannot be handled as a Pod: spec\.containers"):
        store.create(PODS, new_pod(fields={"containers": {"name": "a"}}))


@pytest.mark.parametrize(
    ("kind", "obj", "path"),
    [
        (NODES, {"status": {"conditions": 7}}, "status.conditions"),
        (NODES, {"status": {"allocatable": {"cpu": "many"}}}, "status.allocatable.cpu"),
        (NODES, {"spec": "x"}, "spec"),
        (NAMESPACES, {"spec": []}, "spec"),
        (DEVICE_CLASSES, {"spec": 1}, "spec"),
        (DEVICE_TAINT_RULES, {"spec": {"taint": {"key": 1}}}, "spec.taint.key"),
    ],
)
def test_no_object_gets_in_that_controllers_could_not_read(
    store: Store, kind: Kind, obj: JsonObject, path: str
) -> None:
    with pytest.raises(BadRequestError, match=f": {path}: expected"):
        store.create(kind, {"metadata": {"name": "a"}, **obj})


def test_unreadable_status_is_refused_as_well(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    with pytest.raises(BadRequestError, match=r"status\.reservedFor\[0\]\.uid"):
        with_status(store, claim, reservedFor=[{"uid": 1}])


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        ({"a b": "c"}, "metadata.labels"),
        ({"a": "-"}, "metadata.labels"),
        ({"a": "x" * 64}, "metadata.labels"),
    ],
)
def test_label_out_of_form_is_refused(store: Store, labels: JsonObject, field: str) -> None:
    node: JsonObject = {"metadata": {"name": "a", "labels": labels}}

    assert fields_refused(lambda: store.create(NODES, node)) == [(field, "FieldValueInvalid")]


def test_node_brings_its_status_and_keeps_it_on_update(store: Store) -> None:
    node = store.create(NODES, {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": "8"}}})

    updated = store.update(NODES, {**node, "spec": {"unschedulable": True}, "status": {}})

    assert updated["status"] == {"capacity": {"cpu": "8"}}
    assert updated["spec"] == {"unschedulable": True}


def test_taint_rule_gets_a_time_that_is_renewed_with_its_effect(store: Store) -> None:
    old = "2026-01-01T00:00:00Z"
    taint: JsonObject = {"key": "a", "effect": "None", "timeAdded": old}
    rule = store.create(DEVICE_TAINT_RULES, {"metadata": {"name": "r"}, "spec": {"taint": taint}})

    changed = store.update(
        DEVICE_TAINT_RULES, {**rule, "spec": {"taint": {**taint, "effect": "NoExecute"}}}
    )

    assert inside(rule, "spec", "taint").text("timeAdded") == old
    assert inside(changed, "spec", "taint").text("timeAdded") > old


def test_namespace_is_active_and_labelled_with_its_name(store: Store) -> None:
    namespace = store.get(NAMESPACES, "", LAB)

    assert namespace["status"] == {"phase": "Active"}
    assert inside(namespace, "metadata", "labels").text("kubernetes.io/metadata.name") == LAB


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


def test_changed_slice_and_class_are_checked_again(store: Store) -> None:
    store.create(RESOURCE_SLICES, new_slice())
    device_class: JsonObject = {"metadata": {"name": "c"}, "spec": {}}
    store.create(DEVICE_CLASSES, device_class)

    twice = new_slice(devices=[{"name": "a"}, {"name": "a"}])
    broken: JsonObject = {"selectors": [{"cel": {"expression": "?!"}}]}

    assert fields_refused(lambda: store.update(RESOURCE_SLICES, twice))[0][0].startswith(
        "spec.devices[1]"
    )
    assert fields_refused(
        lambda: store.update(DEVICE_CLASSES, {**device_class, "spec": broken})
    ) == [("spec.selectors[0].cel.expression", "FieldValueInvalid")]


def test_taint_rule_needs_a_key_and_a_known_effect(store: Store) -> None:
    rule: JsonObject = {"metadata": {"name": "r"}, "spec": {"taint": {"effect": "Maybe"}}}

    assert fields_refused(lambda: store.create(DEVICE_TAINT_RULES, rule)) == [
        ("spec.taint.key", "FieldValueInvalid"),
        ("spec.taint.effect", "FieldValueNotSupported"),
    ]


def test_fields_of_alpha_features_are_dropped_as_a_server_does(store: Store) -> None:
    derived: list[Json] = [{"name": "a.io/b", "expression": "device.driver"}]

    claim = store.create(RESOURCE_CLAIMS, new_claim(fields={"derivedAttributes": derived}))
    slice_ = new_slice(devices=[{"name": "a"}])
    spec = slice_["spec"]
    assert isinstance(spec, dict)
    spec["skipNodeOperations"] = ["*"]
    published = store.create(RESOURCE_SLICES, slice_)

    (request,) = inside(claim, "spec", "devices").children("requests")
    assert "derivedAttributes" not in inside(request.raw, "exactly").raw
    assert "skipNodeOperations" not in inside(published, "spec").raw
