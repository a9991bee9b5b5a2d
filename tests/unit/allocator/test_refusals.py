"""What a server stores and nobody can use, refused before it is sent."""

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.rules import ALPHA_FEATURES, DEFAULT_FEATURES, Feature, Rules
from dra_console.allocator.validation.refusals import refuse_claim, refuse_template
from dra_console.allocator.validation.validate import validate_claim, validate_template
from tests.builders.objects import (
    a_claim,
    a_prioritized_request,
    a_request,
    a_template,
    a_wish,
)

REQUESTS = "spec.devices.requests"


def test_33_devices_in_one_claim_are_stored_and_refused() -> None:
    claim = a_claim(requests=[a_request("a", count=32), a_request("b")])

    (refused,) = refuse_claim(claim)

    assert validate_claim(claim) == ()
    assert (refused.field, refused.reason) == (REQUESTS, "FieldValueTooMany")
    assert refused.message == "Too many: 33: must have at most 32 devices in one claim"


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([a_request(count=32)], id="32"),
        pytest.param([a_request(allocationMode="All", count=0)] * 1, id="all"),
        pytest.param(
            [a_prioritized_request("r", big=a_wish(count=500), small=a_wish(count=2))],
            id="an alternative fits",
        ),
    ],
)
def test_what_may_fit_is_not_refused(requests: list[JsonObject]) -> None:
    assert refuse_claim(a_claim(requests=requests)) == ()


def test_a_template_is_refused_at_its_own_path() -> None:
    template = a_template(requests=[a_request(count=33)])

    (refused,) = refuse_template(template)

    assert validate_template(template) == ()
    assert refused.field == f"spec.{REQUESTS}"


def test_a_v1beta1_claim_is_refused_at_its_own_path() -> None:
    claim = a_claim(requests=[{"name": "gpu", "deviceClassName": "c", "adminAccess": True}]) | {
        "apiVersion": "resource.k8s.io/v1beta1"
    }
    rules = Rules(features=DEFAULT_FEATURES - {Feature.ADMIN_ACCESS})

    (refused,) = refuse_claim(claim, rules=rules)

    assert refused.field == f"{REQUESTS}[0].adminAccess"


def test_of_two_attributes_one_would_count() -> None:
    constraint: JsonObject = {"matchAttribute": "a/b", "distinctAttribute": "a/c"}
    claim = a_claim(constraints=[constraint])

    (refused,) = refuse_claim(claim)

    assert validate_claim(claim) == ()
    assert refused.field == "spec.devices.constraints[0].distinctAttribute"
    assert "matchAttribute" in refused.message


DERIVED: JsonObject = {"derivedAttributes": [{"name": "a.io/b", "expression": "device.driver"}]}
GATED = [
    pytest.param(
        a_request() | {"exactly": a_wish() | DERIVED},
        Feature.DERIVED_ATTRIBUTES,
        f"{REQUESTS}[0].exactly.derivedAttributes",
        id="derived attributes",
    ),
    pytest.param(
        a_prioritized_request(a=a_wish()),
        Feature.PRIORITIZED_LIST,
        f"{REQUESTS}[0].firstAvailable",
        id="alternatives",
    ),
    pytest.param(
        a_request(tolerations=[{"key": "k", "operator": "Exists"}]),
        Feature.DEVICE_TAINTS,
        f"{REQUESTS}[0].exactly.tolerations",
        id="tolerations",
    ),
    pytest.param(
        a_request(capacity={"requests": {"m": "1"}}),
        Feature.CONSUMABLE_CAPACITY,
        f"{REQUESTS}[0].exactly.capacity",
        id="capacity",
    ),
]


@pytest.mark.parametrize(("request_", "feature", "path"), GATED)
def test_what_the_server_would_drop_is_named_with_its_gate(
    request_: JsonObject, feature: Feature, path: str
) -> None:
    claim = a_claim(requests=[request_])
    every = DEFAULT_FEATURES | ALPHA_FEATURES

    (refused,) = refuse_claim(claim, rules=Rules(features=every - {feature}))

    assert refuse_claim(claim, rules=Rules(features=every)) == ()
    assert refused.field == path
    assert feature in refused.message


def test_what_cannot_be_read_is_left_to_validation() -> None:
    assert refuse_claim({"spec": {"devices": {"requests": 3}}}) == ()
