"""Rules for the configuration that claims and classes hand to drivers."""

import json
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.api_json import Json
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_driver_name
from dra_console.allocator.validation.request_names import RequestNames

PARAMETERS_LIMIT_BYTES: Final = 10_240


def check_config(
    config: Fields, errors: FieldErrors, *, is_stored: bool = False, known: RequestNames | None
) -> None:
    """Check one entry of `config`; `known` are the requests it may name, `None` in a class."""
    if known is not None:
        known.check_references(config, errors)
    opaque = config.child("opaque")
    if opaque is None:
        errors.required(config.path_of("opaque"))
        return
    check_driver_name(opaque.text("driver"), errors, path=opaque.path_of("driver"))
    check_raw_object(
        opaque.raw.get("parameters"),
        errors,
        path=opaque.path_of("parameters"),
        is_stored=is_stored,
    )


def check_raw_object(
    value: Json, errors: FieldErrors, *, path: str, is_stored: bool = False
) -> None:
    """Check JSON that is handed on unread: an object of limited size.

    The server counts the bytes that the client sent. Here they are counted without blanks,
    as every client library and kubectl send them.
    """
    if value is None:
        errors.required(path)
    elif not is_stored and _size_bytes(value) > PARAMETERS_LIMIT_BYTES:
        errors.too_long(path, PARAMETERS_LIMIT_BYTES)
    elif not isinstance(value, dict):
        errors.invalid(path, value, "must be a valid JSON object")


def _size_bytes(value: Json) -> int:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return names.size_bytes(text)
