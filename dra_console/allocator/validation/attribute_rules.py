"""Rules for the attributes of a device."""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format, check_qualified_name

SCALARS: Final = ("int", "bool", "string", "version")
LISTS: Final = ("ints", "bools", "strings", "versions")
ATTRIBUTES_AND_CAPACITIES_LIMIT: Final = 32
ATTRIBUTE_VALUES_LIMIT: Final = 48


def check_attributes(device: Fields, errors: FieldErrors) -> None:
    """Check names, values and number of the attributes of a device."""
    attributes = dict(device.named("attributes"))
    entries = len(attributes) + sum(1 for _ in device.entries("capacity"))
    if entries > ATTRIBUTES_AND_CAPACITIES_LIMIT:
        limit = ATTRIBUTES_AND_CAPACITIES_LIMIT
        detail = f"the total number of attributes and capacities must not exceed {limit}"
        errors.invalid(device.path, entries, detail)
    values = sum(map(_value_count, attributes.values()))
    if values > ATTRIBUTE_VALUES_LIMIT:
        detail = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_LIMIT}"
        errors.invalid(device.path, values, detail)
    for name, attribute in attributes.items():
        check_qualified_name(name, errors, path=device.path_of("attributes"))
        _check_attribute(attribute, errors)


def _value_count(attribute: Fields) -> int:
    return sum(len(list(attribute.items(kind))) for kind in LISTS) or 1


def _check_attribute(attribute: Fields, errors: FieldErrors) -> None:
    kinds = [kind for kind in (*SCALARS, *LISTS) if attribute.has(kind)]
    # A list without entries is set, but it is no value.
    is_empty = len(kinds) == 1 and kinds[0] in LISTS and not list(attribute.items(kinds[0]))
    if len(kinds) != 1 or is_empty:
        errors.invalid(attribute.path, ", ".join(kinds), "exactly one value must be specified")
    if attribute.has("string"):
        _check_text(attribute.text("string"), errors, path=attribute.path_of("string"))
    if attribute.has("version"):
        _check_version(attribute.text("version"), errors, path=attribute.path_of("version"))
    for kind in LISTS:
        if attribute.has(kind) and not list(attribute.items(kind)):
            errors.invalid(attribute.path_of(kind), [], "must not be empty if specified")
    for index, text in enumerate(attribute.texts("strings")):
        _check_text(text, errors, path=f"{attribute.path_of('strings')}[{index}]")
    for index, text in enumerate(attribute.texts("versions")):
        _check_version(text, errors, path=f"{attribute.path_of('versions')}[{index}]")


def _check_version(text: str, errors: FieldErrors, *, path: str) -> None:
    check_format(text, names.semantic_version, errors, path=path)
    _check_text(text, errors, path=path)


def _check_text(text: str, errors: FieldErrors, *, path: str) -> None:
    if names.size_bytes(text) > names.VALUE_LIMIT:
        errors.too_long(path, names.VALUE_LIMIT)
