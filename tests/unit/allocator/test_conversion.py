"""Objects of v1beta1, as a real API server reads them in v1 (`tests/golden/conversion`)."""

import json
from pathlib import Path

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_slice, decode_template
from dra_console.allocator.decoding.versions import as_v1
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import DEFAULT_RULES
from dra_console.allocator.validation.gated_fields import drop_disabled

RECORDS: list[JsonObject] = json.loads(
    (Path(__file__).parents[2] / "golden" / "conversion" / "v1beta1.json").read_text()
)


def spec_of(obj: JsonObject) -> object:
    """Read the spec as a value, in which defaults are filled in."""
    match obj["kind"]:
        case "ResourceClaim":
            return decode_claim(obj).spec
        case "ResourceClaimTemplate":
            template = decode_template(obj)
            return template.spec, template.labels, template.annotations
        case _:
            return decode_slice(obj)


def part(record: JsonObject, name: str) -> JsonObject:
    value: Json = record[name]
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("record", RECORDS, ids=[str(each["id"]) for each in RECORDS])
def test_v1beta1_object_means_what_the_server_makes_of_it(record: JsonObject) -> None:
    old = part(record, "v1beta1")
    new = old | {"apiVersion": "resource.k8s.io/v1", "spec": part(record, "v1")}

    lifted, _ = drop_disabled(str(old["kind"]), as_v1(old), stored=None, rules=DEFAULT_RULES)

    assert lifted["apiVersion"] == "resource.k8s.io/v1"
    assert spec_of(lifted) == spec_of(new)


def test_the_records_are_of_every_kind_that_differs() -> None:
    kinds = {part(each, "v1beta1")["kind"] for each in RECORDS}

    assert kinds == {"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
    assert len(RECORDS) > 80
