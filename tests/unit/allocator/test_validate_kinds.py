"""What is told of templates, classes and older versions, and who may ask for admin access."""

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_class,
    validate_template,
)
from tests.builders.objects import a_claim, a_class, a_request, a_template

REQUESTS = "spec.devices.requests"


def one(errors: tuple[FieldError, ...]) -> tuple[str, str, str]:
    (error,) = errors
    return error.field, error.reason.value, error.message


def test_errors_in_a_template_have_the_templates_path() -> None:
    template = a_template(requests=[a_request(count=-1)])

    assert [each.field for each in validate_template(template)] == [
        "spec.spec.devices.requests[0].exactly.count"
    ]


def test_errors_in_a_v1beta1_claim_have_that_versions_path() -> None:
    claim = a_claim(requests=[{"name": "gpu", "deviceClassName": "x", "count": -1}])

    errors = validate_claim(claim | {"apiVersion": "resource.k8s.io/v1beta1"})

    assert [each.field for each in errors] == [f"{REQUESTS}[0].count"]


def test_version_that_is_not_served_is_named_with_those_that_are() -> None:
    claim = a_claim() | {"apiVersion": "resource.k8s.io/v1alpha2"}

    assert one(validate_claim(claim)) == (
        "apiVersion",
        "FieldValueNotSupported",
        (
            'Unsupported value: "resource.k8s.io/v1alpha2": supported values: '
            '"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"; '
            "a ResourceClaim is written in resource.k8s.io/v1, which has replaced it"
        ),
    )


@pytest.mark.parametrize(
    ("labels", "is_allowed"),
    [
        ({"resource.kubernetes.io/admin-access": "true"}, True),
        ({"resource.kubernetes.io/admin-access": "True"}, False),
        ({}, False),
        (None, True),
    ],
)
def test_193_admin_access_needs_the_label_on_the_namespace(
    labels: dict[str, str] | None, is_allowed: bool
) -> None:
    requests = [a_request(adminAccess=True)]

    found = [
        *validate_claim(a_claim(requests=requests), namespace_labels=labels),
        *validate_template(a_template(requests=requests), namespace_labels=labels),
    ]

    expected = [] if is_allowed else ["spec.devices.requests[0].adminAccess"] * 2
    assert [each.field for each in found] == expected


CLASS_RULES = [
    pytest.param(a_class(selectors=["1"]), "spec.selectors[0].cel.expression", id="selector"),
    pytest.param(a_class(config=[{}]), "spec.config[0].opaque", id="config"),
    pytest.param(
        a_class(extendedResourceName="kubernetes.io/gpu"),
        "spec.extendedResourceName",
        id="extended resource of Kubernetes' own domain",
    ),
    pytest.param(a_class("Not_a_name"), "metadata.name", id="name"),
]


@pytest.mark.parametrize(("device_class", "field"), CLASS_RULES)
def test_class(device_class: JsonObject, field: str) -> None:
    assert one(validate_class(device_class))[0] == field


def test_valid_class_has_nothing_wrong() -> None:
    valid = a_class(extendedResourceName="example.com/gpu")

    assert validate_class(valid) == ()


@pytest.mark.parametrize(
    ("claim", "field", "words"),
    [
        pytest.param(
            a_claim(requests=[{"name": "gpu", "deviceClassName": "c"}]),
            f"{REQUESTS}[0].deviceClassName",
            "since v1beta2 the fields of a request stand under exactly",
            id="v1beta1's shape in v1",
        ),
        pytest.param(
            a_claim() | {"apiVersion": "resource.k8s.io/v1beta1"},
            f"{REQUESTS}[0].exactly",
            "before v1beta2 the fields of a request stand in the request itself",
            id="v1's shape in v1beta1",
        ),
        pytest.param(
            a_claim() | {"spec": {"controller": "x"}},
            "spec.controller",
            "classic dynamic resource allocation",
            id="classic",
        ),
        pytest.param(
            a_claim() | {"spec": {"tolerations": []}},
            "spec.tolerations",
            "spec.devices.requests[i].exactly.tolerations",
            id="tolerations of a pod",
        ),
    ],
)
def test_field_of_another_place_or_version_is_told_where_it_belongs(
    claim: JsonObject, field: str, words: str
) -> None:
    found, reason, message = one(validate_claim(claim))

    assert (found, reason) == (field, "UnknownField")
    assert words in message
