"""The stages of validation that every kind goes through."""

from collections.abc import Callable
from dataclasses import dataclass

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.decoding.versions import as_v1, is_flat, served_versions
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.field_errors import FieldError, FieldErrors
from dra_console.allocator.validation.flat_paths import in_flat_version
from dra_console.allocator.validation.gated_fields import drop_disabled
from dra_console.allocator.validation.hints import hint_for
from dra_console.allocator.validation.shapes import ObjectOf, check_shape


@dataclass(frozen=True, slots=True)
class Submission:
    """An object on its way in, with the stored one that it is to replace, both in v1 shape.

    Fields whose feature gate is off are gone already.
    """

    obj: JsonObject
    stored: JsonObject | None

    @property
    def whole(self) -> Fields:
        return Fields("", self.obj)

    @property
    def spec(self) -> Fields:
        return part_of(self.obj, "spec")

    @property
    def stored_spec(self) -> Fields | None:
        return None if self.stored is None else part_of(self.stored, "spec")


Check = Callable[[Submission, FieldErrors], None]


def part_of(obj: JsonObject, name: str) -> Fields:
    """Return a part of an object, empty if it is absent."""
    return Fields("", obj).child(name) or Fields(name, {})


def validated(  # noqa: PLR0913  each stage needs one of them
    obj: JsonObject,
    check: Check,
    *,
    kind: str,
    shape: ObjectOf,
    stored: JsonObject | None,
    rules: Rules,
) -> tuple[FieldError, ...]:
    """Check version, fields and types, then the rules of a kind.

    `shape` describes the kind in the object's version. One without a version is taken for v1.
    """
    errors = FieldErrors()
    version = obj.get("apiVersion")
    versions = served_versions(kind)
    if version is not None and version not in versions:
        hint = f"a {kind} is written in {versions[0]}, which has replaced it"
        errors.not_supported("apiVersion", str(version), versions, hint=hint)
        return tuple(errors.found)
    check_shape(obj, shape, errors, hint=hint_for)
    if errors.found:
        return tuple(errors.found)
    try:
        before = None if stored is None else as_v1({"kind": kind, **stored})
        lifted, _ = drop_disabled(kind, as_v1({**obj, "kind": kind}), stored=before, rules=rules)
        check(Submission(lifted, before), errors)
    except DecodeError as error:
        errors.wrong_type(error.path, error.message)
    found = tuple(dict.fromkeys(errors.found))
    return in_flat_version(found, kind=kind) if is_flat(obj) else found
