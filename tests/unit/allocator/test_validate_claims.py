"""What the API server would refuse in claims, templates and classes, and how it says so."""

from collections.abc import Callable

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim_spec,
)
from tests.builders.objects import (
    a_claim_spec,
    a_prioritized_request,
    a_request,
    a_wish,
)

REQUESTS = "spec.devices.requests"
EXACTLY = f"{REQUESTS}[0].exactly"


def lines(errors: tuple[FieldError, ...]) -> list[tuple[str, str, str]]:
    return [(each.field, each.reason.value, each.message) for each in errors]


def one(errors: tuple[FieldError, ...]) -> tuple[str, str, str]:
    found = lines(errors)
    assert len(found) == 1, found
    return found[0]


def many(count: int, entry: Callable[[int], JsonObject]) -> list[Json]:
    return [entry(index) for index in range(count)]


def a_toleration(**fields: Json) -> JsonObject:
    return {"key": "k", "operator": "Exists", **fields}


def requesting(**fields: Json) -> JsonObject:
    return a_claim_spec([a_request() | {"exactly": a_wish() | fields}])


def test_valid_claim_has_nothing_wrong() -> None:
    spec = a_claim_spec(
        [
            a_request("gpu", selectors=["device.driver == 'x'"], count=4),
            a_prioritized_request("nic", fast=a_wish(), slow=a_wish(allocationMode="All")),
        ],
        constraints=[{"requests": ["gpu", "nic/fast"], "matchAttribute": "x.io/root"}],
        config=[{"requests": ["gpu"], "opaque": {"driver": "x.io", "parameters": {"a": 1}}}],
    )

    assert validate_claim_spec(spec) == ()


EXACTLY_RULES = [
    pytest.param(
        {"deviceClassName": ""},
        (f"{EXACTLY}.deviceClassName", "FieldValueRequired", "Required value"),
        id="class name",
    ),
    pytest.param(
        {"allocationMode": "Some"},
        (
            f"{EXACTLY}.allocationMode",
            "FieldValueNotSupported",
            'Unsupported value: "Some": supported values: "All", "ExactCount"',
        ),
        id="mode",
    ),
    pytest.param(
        {"count": -1},
        (
            f"{EXACTLY}.count",
            "FieldValueInvalid",
            "Invalid value: -1: must be greater than zero",
        ),
        id="count",
    ),
    pytest.param(
        {"allocationMode": "All", "count": 2},
        (
            f"{EXACTLY}.count",
            "FieldValueInvalid",
            "Invalid value: 2: must not be specified when allocationMode is 'All'",
        ),
        id="count beside All",
    ),
    pytest.param(
        {"selectors": [{}]},
        (f"{EXACTLY}.selectors[0].cel", "FieldValueRequired", "Required value"),
        id="selector without CEL",
    ),
    pytest.param(
        {"selectors": many(33, lambda _: {"cel": {"expression": "true"}})},
        (
            f"{EXACTLY}.selectors",
            "FieldValueTooMany",
            "Too many: 33: must have at most 32 items",
        ),
        id="selectors",
    ),
    pytest.param(
        {"selectors": [{"cel": {"expression": "device.driver == \u201cx\u201d"}}]},
        (
            f"{EXACTLY}.selectors[0].cel.expression",
            "FieldValueInvalid",
            (
                'Invalid value: "device.driver == \u201cx\u201d": compilation failed: line 1, '
                "column 18: typographic quote \u201c (U+201C); "
                "use the plain quotes \" or ' around texts"
            ),
        ),
        id="typographic quotes",
    ),
    pytest.param(
        {"tolerations": [a_toleration(value="v")]},
        (
            f"{EXACTLY}.tolerations[0].value",
            "FieldValueInvalid",
            'Invalid value: "v": must be empty when `operator` is Exists',
        ),
        id="toleration with a needless value",
    ),
    pytest.param(
        {"tolerations": [a_toleration(operator="Lt")]},
        (
            f"{EXACTLY}.tolerations[0].operator",
            "FieldValueNotSupported",
            'Unsupported value: "Lt": supported values: "Equal", "Exists"',
        ),
        id="toleration with an operator of nodes",
    ),
    pytest.param(
        {"count": "2"},
        (
            f"{EXACTLY}.count",
            "FieldValueTypeInvalid",
            "Invalid value: expected a whole number, got a text",
        ),
        id="a count that is a text",
    ),
    pytest.param(
        {"capacity": {"requests": {"memory": "lots"}}},
        (
            f"{EXACTLY}.capacity.requests[memory]",
            "FieldValueTypeInvalid",
            "Invalid value: expected a quantity such as 80Gi, 500m or 2, got 'lots'",
        ),
        id="a capacity that is no quantity",
    ),
    pytest.param(
        {"nodeSelector": {}},
        (f"{EXACTLY}.nodeSelector", "UnknownField", "unknown field"),
        id="an unknown field",
    ),
]


@pytest.mark.parametrize(("fields", "expected"), EXACTLY_RULES)
def test_exactly(fields: JsonObject, expected: tuple[str, str, str]) -> None:
    assert one(validate_claim_spec(requesting(**fields))) == expected


ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"
SPEC_RULES = [
    pytest.param(
        a_claim_spec([{"name": "r"}]),
        (f"{REQUESTS}[0]", "FieldValueRequired", f"Required value: {ONE_OF}"),
        id="neither way to ask",
    ),
    pytest.param(
        a_claim_spec([a_request("r") | a_prioritized_request("r", a=a_wish())]),
        (f"{REQUESTS}[0]", "FieldValueInvalid", f'Invalid value: "r": {ONE_OF}'),
        id="both ways to ask",
    ),
    pytest.param(
        a_claim_spec([a_request("r"), a_request("r")]),
        (f"{REQUESTS}[1]", "FieldValueDuplicate", 'Duplicate value: "r"'),
        id="a name twice",
    ),
    pytest.param(
        a_claim_spec([a_request(f"r{index}", allocationMode="All") for index in range(33)]),
        (REQUESTS, "FieldValueTooMany", "Too many: 33: must have at most 32 items"),
        id="33 requests",
    ),
    pytest.param(
        a_claim_spec([a_prioritized_request("r", **{f"s{index}": a_wish() for index in range(9)})]),
        (
            f"{REQUESTS}[0].firstAvailable",
            "FieldValueTooMany",
            "Too many: 9: must have at most 8 items",
        ),
        id="nine alternatives",
    ),
    pytest.param(
        a_claim_spec(constraints=[{"requests": ["gpu"]}]),
        (
            "spec.devices.constraints[0]",
            "FieldValueRequired",
            "Required value: exactly one of `matchAttribute` or `distinctAttribute` is required",
        ),
        id="empty constraint",
    ),
    pytest.param(
        a_claim_spec(constraints=[{"matchAttribute": "numa"}]),
        (
            "spec.devices.constraints[0].matchAttribute",
            "FieldValueInvalid",
            'Invalid value: "numa": must include a domain, as in gpu.example.com/numa',
        ),
        id="attribute without domain",
    ),
    pytest.param(
        a_claim_spec(constraints=[{"requests": ["r/s/t"], "matchAttribute": "x.io/numa"}]),
        (
            "spec.devices.constraints[0].requests[0]",
            "FieldValueInvalid",
            (
                'Invalid value: "r/s/t": must be the name of a request in the claim or the name '
                "of a request and a subrequest separated by '/'"
            ),
        ),
        id="195 a reference of three parts",
    ),
    pytest.param(
        a_claim_spec(config=[{"opaque": {"driver": "x.io", "parameters": [1]}}]),
        (
            "spec.devices.config[0].opaque.parameters",
            "FieldValueInvalid",
            "Invalid value: [1]: must be a valid JSON object",
        ),
        id="parameters that are no object",
    ),
    pytest.param(
        a_claim_spec(config=[{"opaque": {"driver": "x.io", "parameters": {"a": "x" * 10_240}}}]),
        (
            "spec.devices.config[0].opaque.parameters",
            "FieldValueTooLong",
            "Too long: may not be more than 10240 bytes",
        ),
        id="parameters that are too long",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), SPEC_RULES)
def test_claim_spec(spec: JsonObject, expected: tuple[str, str, str]) -> None:
    assert one(validate_claim_spec(spec)) == expected


def test_all_errors_are_reported_at_once() -> None:
    spec = a_claim_spec([a_request("A", device_class="", count=0 - 1)])

    fields = [each.field for each in validate_claim_spec(spec)]

    assert fields == [f"{REQUESTS}[0].name", f"{EXACTLY}.deviceClassName", f"{EXACTLY}.count"]
