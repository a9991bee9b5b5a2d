"""Validation answers whatever it is given: any JSON in any field is an error, never a crash."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim, decode_slice
from dra_console.allocator.decoding.versions import as_v1
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.validation.refusals import refuse_claim, refuse_template
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_slice,
    validate_taint_rule,
    validate_taint_rule_status,
    validate_template,
)

RECORDS = Path(__file__).parents[2] / "golden" / "validation"
ALL_GATES = Rules(features=frozenset(Feature))

Validate = Callable[[JsonObject], tuple[FieldError, ...]]
VALIDATORS: dict[str, tuple[Validate, ...]] = {
    "ResourceClaim": (
        lambda obj: validate_claim(obj, namespace_labels={}, rules=ALL_GATES),
        lambda obj: validate_claim(obj, stored=obj),
        lambda obj: validate_claim_status(obj, stored={}, namespace_labels={}, rules=ALL_GATES),
        lambda obj: validate_claim_status(obj, stored=obj),
        refuse_claim,
    ),
    "ResourceClaimTemplate": (
        lambda obj: validate_template(obj, namespace_labels={}),
        lambda obj: validate_template(obj, stored=obj),
        refuse_template,
    ),
    "DeviceClass": (validate_class, lambda obj: validate_class(obj, stored=obj)),
    "ResourceSlice": (
        validate_slice,
        lambda obj: validate_slice(obj, stored=obj, rules=ALL_GATES),
    ),
    "DeviceTaintRule": (
        validate_taint_rule,
        validate_taint_rule_status,
        lambda obj: validate_taint_rule(obj, stored=obj),
    ),
}

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ("1Gi", "-1", "a/b", "ExactCount", "All", "Equal", "10.0.0.1/8", "1.2.3", "\ud800")
    )
)
ANYTHING: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3)
    ),
    max_leaves=8,
)


def samples() -> list[JsonObject]:
    """Take one object of each recorded shape that is small enough to be looked through."""
    found: dict[str, JsonObject] = {}
    for path in sorted(RECORDS.glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            obj = case["object"]
            text = json.dumps(obj)
            if len(text) < 3_000:
                found[",".join(sorted(paths(obj)))] = obj
    return list(found.values())


def paths(value: Json, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, entry in value.items():
            yield f"{path}.{name}"
            yield from paths(entry, f"{path}.{name}")
    elif isinstance(value, list):
        for entry in value[:1]:
            yield f"{path}[]"
            yield from paths(entry, f"{path}[]")


def places(value: Json) -> Iterator[tuple[dict[str, Json] | list[Json], str | int]]:
    """Walk to every field and entry: what holds it, and its name or number."""
    if isinstance(value, dict):
        for name, entry in list(value.items()):
            yield value, name
            yield from places(entry)
    elif isinstance(value, list):
        for index, entry in enumerate(list(value)):
            yield value, index
            yield from places(entry)


SAMPLES = samples()


def replace(holder: dict[str, Json] | list[Json], key: str | int, value: Json) -> None:
    if isinstance(holder, dict):
        holder[str(key)] = value
    else:
        holder[int(key)] = value


@st.composite
def spoiled(draw: st.DrawFn) -> JsonObject:
    """Take an object, and put anything in one or two places of it."""
    obj = deepcopy(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 2))):
        where = list(places({key: obj[key] for key in obj if key != "kind"}))
        holder, key = draw(st.sampled_from(where))
        anything = draw(ANYTHING)
        replace(holder, key, anything)
    return obj


@given(obj=spoiled())
def test_any_json_in_any_field_gives_errors_and_no_exception(obj: JsonObject) -> None:
    before = deepcopy(obj)

    for validate in VALIDATORS[str(obj["kind"])]:
        for error in validate(obj):
            assert error.field or error.message

    assert obj == before


@given(obj=st.dictionaries(st.sampled_from(("apiVersion", "metadata", "spec", "status")), ANYTHING))
@pytest.mark.parametrize("kind", VALIDATORS)
def test_any_json_for_an_object_gives_errors_and_no_exception(kind: str, obj: JsonObject) -> None:
    for validate in VALIDATORS[kind]:
        validate(obj)


@given(obj=spoiled())
def test_what_passes_can_be_read(obj: JsonObject) -> None:
    kind = str(obj["kind"])
    if kind == "ResourceClaim" and not validate_claim(obj, rules=DEFAULT_RULES):
        decode_claim(as_v1(obj) | {"status": {}})
    if kind == "ResourceSlice" and not validate_slice(obj, rules=DEFAULT_RULES):
        decode_slice(obj)


@given(obj=spoiled())
def test_reading_raises_decode_errors_alone(obj: JsonObject) -> None:
    decode = {"ResourceClaim": decode_claim, "ResourceSlice": decode_slice}.get(str(obj["kind"]))
    if decode is not None:
        with suppress(DecodeError):
            decode(obj)
