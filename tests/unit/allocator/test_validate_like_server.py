"""Verdicts of a real API server, recorded in `tests/golden/validation/`: ours are the same.

Compared are the fields and the reasons of all causes. In v1beta1 the server mixes two spellings
of paths, since it checks partly on the newest shape; ours are those of v1beta1 throughout.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.validation.validate import (
    ADMIN_ACCESS_LABEL,
    FieldError,
    FieldReason,
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_slice,
    validate_taint_rule,
    validate_taint_rule_status,
    validate_template,
)

RECORDS = Path(__file__).parents[2] / "golden" / "validation"
DECODING = frozenset({FieldReason.UNKNOWN_FIELD, FieldReason.TYPE_INVALID})

DIFFERENCES = {
    **dict.fromkeys(
        (
            "v1beta1/claim/empty-class",
            *(
                f"v1beta1/claim/flat-{field}"
                for field in ("no-admin", "selectors", "tolerations", "capacity", "derived")
            ),
        ),
        "v1beta1 knows no `exactly`: the server leaves out a default where the class is empty, and "
        "complains of that as well; the missing class is the cause",
    ),
    "claim/both-and-broken-alternatives": (
        "the server goes on with half of its rules inside a request that is wrong as a whole"
    ),
    "slice/devices-65-and-broken-entry": (
        "the server goes on with half of its rules inside a list that is too long"
    ),
    "slice/policy/values-same": "the server takes 1 and 1000m for different values",
    "status/device/left-and-foreign": (
        "the server counts the devices after it has dropped some; ours is the place in the request"
    ),
}
"""Where ours is another verdict, and why."""


@dataclass(frozen=True, slots=True)
class Record:
    """One request, and what the server said."""

    name: str
    operation: str
    obj: JsonObject
    stored: JsonObject | None
    verdict: JsonObject
    rules: Rules


@cache
def read_records() -> tuple[Record, ...]:
    return tuple(_read())


def _read() -> Iterator[Record]:
    for path in sorted(RECORDS.glob("*.json")):
        recorded = json.loads(path.read_text())
        rules = Rules(features=frozenset(map(Feature, recorded["features"])))
        for case in recorded["cases"]:
            yield Record(
                name=f"{path.stem}: {case['id']}",
                operation=case["operation"],
                obj=case["object"],
                stored=case.get("stored"),
                verdict=case["verdict"],
                rules=rules,
            )


def validated(record: Record) -> tuple[FieldError, ...]:
    obj, stored, rules = record.obj, record.stored, record.rules
    metadata = obj["metadata"]
    is_admin = isinstance(metadata, dict) and metadata.get("namespace") == "admin"
    labels = {ADMIN_ACCESS_LABEL: "true"} if is_admin else {}
    if record.operation == "status" and obj["kind"] == "DeviceTaintRule":
        return validate_taint_rule_status(obj, rules=rules)
    if record.operation == "status":
        assert stored is not None
        return validate_claim_status(obj, stored=stored, namespace_labels=labels, rules=rules)
    by_kind: dict[object, Callable[[], tuple[FieldError, ...]]] = {
        "ResourceClaim": lambda: validate_claim(
            obj, stored=stored, namespace_labels=labels, rules=rules
        ),
        "ResourceClaimTemplate": lambda: validate_template(
            obj, stored=stored, namespace_labels=labels, rules=rules
        ),
        "DeviceClass": lambda: validate_class(obj, stored=stored, rules=rules),
        "ResourceSlice": lambda: validate_slice(obj, stored=stored, rules=rules),
        "DeviceTaintRule": lambda: validate_taint_rule(obj, stored=stored, rules=rules),
    }
    return by_kind[obj["kind"]]()


def comparable(field: str, *, is_flat: bool) -> str:
    """Write a path so that both spellings of v1beta1 agree."""
    if not is_flat:
        return field
    field = re.sub(r"(requests\[\d+\])\.exactly(?=\.)", r"\1", field)
    return re.sub(r"(spec\.devices\[\d+\])\.basic(?=\.)", r"\1", field)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(each, id=each.name)
        for each in read_records()
        if each.name.partition(": ")[2] not in DIFFERENCES
    ],
)
def test_verdict_is_the_servers(record: Record) -> None:
    errors = validated(record)

    if "unknown" in record.verdict:
        assert {each.reason for each in errors} <= DECODING
        unknown = [each.field for each in errors if each.reason is FieldReason.UNKNOWN_FIELD]
        # The server's decoder writes a key of a map like a field.
        assert (
            sorted(re.sub(r"\[(\D[^]]*)\]", r".\1", each) for each in unknown)
            == (record.verdict["unknown"])
        )
    elif "undecodable" in record.verdict:
        assert {each.reason for each in errors} == {FieldReason.TYPE_INVALID}
    else:
        causes = record.verdict.get("causes", [])
        assert isinstance(causes, list)
        is_flat = record.obj["apiVersion"] == "resource.k8s.io/v1beta1"
        expected = {
            (comparable(str(cause[0]), is_flat=is_flat), str(cause[1]))
            for cause in causes
            if isinstance(cause, list)
        }
        found = {(comparable(each.field, is_flat=is_flat), each.reason.value) for each in errors}
        assert found == expected


def is_alike(record: Record) -> bool:
    try:
        test_verdict_is_the_servers(record)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_one_still(name: str) -> None:
    records = [each for each in read_records() if each.name.partition(": ")[2] == name]

    assert not all(map(is_alike, records))


def test_the_records_are_broad() -> None:
    kinds = {(each.obj["kind"], each.operation) for each in read_records()}
    refused = [each for each in read_records() if "accepted" not in each.verdict]

    assert len(kinds) == 12
    assert len(read_records()) > 1_500
    assert len(refused) > 850
