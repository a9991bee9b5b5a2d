"""Rules for other kinds than claims, as a store holds them."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from tests.unit.devcluster.things import (
    LAB,
    fields_refused,
    new_claim,
    new_pod,
    new_slice,
    with_status,
)


@pytest.mark.parametrize("field", ["driver", "nodeName"])
def test_slice_stays_with_its_driver_and_node(store: Store, field: str) -> None:
    store.create(RESOURCE_SLICES, new_slice())

    changed = new_slice(**{field: "other"})

    assert fields_refused(lambda: store.update(RESOURCE_SLICES, changed)) == [
        (f"spec.{field}", "FieldValueInvalid")
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
