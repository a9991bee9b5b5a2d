"""What an update may not change."""

from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import EXACT_COUNT
from dra_console.allocator.validation.equality import is_equal
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.shapes import Leaf, Shape

IMMUTABLE: Final = "field is immutable"


def check_unchanged_spec(
    obj: JsonObject, errors: FieldErrors, *, stored: JsonObject, shape: Shape
) -> None:
    """Check that the spec of a claim or template (v1 shape) is the stored one."""
    spec, before = _defaulted(obj.get("spec")), _defaulted(stored.get("spec"))
    if not is_equal(spec, before, shape):
        errors.invalid("spec", obj.get("spec"), IMMUTABLE)


def check_unchanged(spec: Fields, errors: FieldErrors, *, stored: Fields) -> None:
    """Check that a slice stays with its driver, pool and node."""
    if spec.text("driver") != stored.text("driver"):
        errors.invalid(spec.path_of("driver"), spec.raw.get("driver"), IMMUTABLE)
    pool, before = (each.child("pool") or Fields("spec.pool", {}) for each in (spec, stored))
    if pool.text("name") != before.text("name"):
        errors.invalid(pool.path_of("name"), pool.raw.get("name"), IMMUTABLE)
    if not is_equal(spec.raw.get("nodeName"), stored.raw.get("nodeName"), Leaf.TEXT):
        errors.invalid(spec.path_of("nodeName"), spec.raw.get("nodeName"), IMMUTABLE)


def _defaulted(value: Json) -> Json:
    """Fill in what the server fills in, wherever a request or a toleration stands."""
    if isinstance(value, list):
        return [_defaulted(each) for each in value]
    if not isinstance(value, dict):
        return value
    filled = {
        key: entry if key == "parameters" else _defaulted(entry) for key, entry in value.items()
    }
    if "deviceClassName" in filled:
        filled["allocationMode"] = filled.get("allocationMode") or EXACT_COUNT
        if filled["allocationMode"] == EXACT_COUNT:
            filled["count"] = filled.get("count") or 1
    tolerations = filled.get("tolerations")
    for toleration in tolerations if isinstance(tolerations, list) else ():
        if isinstance(toleration, dict):
            toleration["operator"] = toleration.get("operator") or "Equal"
    return filled
