"""Cases that people met: the checks that validation and decoding decide."""

import re
from collections.abc import Callable

import pytest

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.decoding.versions import as_v1
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_slice,
    validate_template,
)
from tests.unit.allocator.golden_cases import Case, Check, inside, read_cases, reference_of, texts

CASES = {case.name: case for case in read_cases()}
RESERVED = re.compile(r"status with (?P<count>\d+) entries")

Validator = Callable[[Case, JsonObject], tuple[FieldError, ...]]
VALIDATORS: dict[str, Validator] = {
    "ResourceClaim": lambda case, obj: validate_claim(
        obj, namespace_labels=case.namespace_labels(str(inside(obj, "metadata", "namespace")))
    ),
    "ResourceClaimTemplate": lambda case, obj: validate_template(
        obj, namespace_labels=case.namespace_labels(str(inside(obj, "metadata", "namespace")))
    ),
    "DeviceClass": lambda _case, obj: validate_class(obj),
    "ResourceSlice": lambda _case, obj: validate_slice(obj),
}


def checks(kind: str) -> list[object]:
    """List the checks of one kind, as parameters; pods are for the dev cluster's tests."""
    return [
        pytest.param(case, check, id=f"{case.name} #{number}")
        for case in CASES.values()
        for number, check in enumerate(case.checks)
        if check["op"] == kind and not str(check["object"]).startswith("Pod/")
    ]


def errors_of(case: Case, reference: str) -> tuple[FieldError, ...]:
    """Validate an object, or the claim of the case with so many consumers."""
    reserved = RESERVED.fullmatch(reference)
    if reserved is None:
        obj = case.named(reference)
        return VALIDATORS[str(obj["kind"])](case, obj)
    (claim,) = (
        each for each in case.objects if each["kind"] == "ResourceClaim" and each.get("status")
    )
    consumers: list[Json] = [
        {"resource": "pods", "name": f"p{index}", "uid": f"u{index}"}
        for index in range(int(reserved["count"]))
    ]
    status = claim["status"]
    assert isinstance(status, dict)
    changed = claim | {"status": status | {"reservedFor": consumers}}
    return validate_claim_status(changed, stored=claim)


@pytest.mark.parametrize(("case", "check"), checks("validate"))
def test_validate(case: Case, check: Check) -> None:
    errors = errors_of(case, str(check["object"]))

    if check["verdict"] == "accept":
        assert errors == ()
        return
    assert [each.field for each in errors] == texts(check["field"])
    for word in texts(check.get("reason_contains")):
        assert all(word in str(each) for each in errors)


def as_v1beta1(claim: JsonObject) -> JsonObject:
    """Write a claim in the shape of v1beta1, which the product itself never does."""
    requests = inside(claim, "spec", "devices", "requests")
    assert isinstance(requests, list)
    flat: list[Json] = []
    for request in requests:
        assert isinstance(request, dict)
        exactly = request.get("exactly")
        rest = {name: value for name, value in request.items() if name != "exactly"}
        flat.append(rest | (exactly if isinstance(exactly, dict) else {}))
    spec = claim["spec"]
    assert isinstance(spec, dict)
    devices = spec["devices"]
    assert isinstance(devices, dict)
    return claim | {
        "apiVersion": "resource.k8s.io/v1beta1",
        "spec": spec | {"devices": devices | {"requests": flat}},
    }


@pytest.mark.parametrize(("case", "check"), checks("roundtrip"))
def test_roundtrip(case: Case, check: Check) -> None:
    stored = case.named(str(check["object"]))

    lifted = as_v1(stored)

    assert lifted["apiVersion"] == "resource.k8s.io/v1"
    assert as_v1(as_v1beta1(lifted)) == lifted
    assert (as_v1beta1(lifted) == stored) == check["lossless"]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_accepted_can_be_read(case: Case) -> None:
    for claim in (obj for obj in case.objects if obj["kind"] == "ResourceClaim"):
        if VALIDATORS["ResourceClaim"](case, claim):
            continue
        try:
            decode_claim(claim)
        except DecodeError as error:
            pytest.fail(f"{reference_of(claim)}: {error}")
