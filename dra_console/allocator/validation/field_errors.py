"""Validation errors as the API server words them: field path, cause, message.

The causes are those of a `Status` object, so that an error found here and one that comes
back from the server read alike. One is ours: the server refuses unknown fields while it
decodes, without a cause.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from dra_console.allocator.api_json import Json


class FieldReason(StrEnum):
    """Causes of a `Status` with reason Invalid."""

    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    UNKNOWN_FIELD = "UnknownField"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong; `message` has the value and what was expected, not the field."""

    field: str
    reason: FieldReason
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(slots=True)
class FieldErrors:
    """Collects errors, each under the path that it is given."""

    found: list[FieldError] = field(default_factory=list)

    def required(self, path: str, detail: str = "") -> None:
        """Say that a field has to be set."""
        self._add(path, FieldReason.REQUIRED, "Required value", detail)

    def duplicate(self, path: str, value: str) -> None:
        """Say that a value occurred before."""
        self._add(path, FieldReason.DUPLICATE, f"Duplicate value: {json.dumps(value)}")

    def invalid(self, path: str, value: Json, detail: str) -> None:
        """Say what is wrong with a value."""
        shown = json.dumps(value, ensure_ascii=False)
        self._add(path, FieldReason.INVALID, f"Invalid value: {shown}", detail)

    def not_supported(
        self, path: str, value: str, supported: Iterable[str], *, hint: str = ""
    ) -> None:
        """List the values that there are; `hint` says which to take."""
        values = ", ".join(json.dumps(each) for each in supported)
        message = f"Unsupported value: {json.dumps(value)}"
        detail = f"supported values: {values}{f'; {hint}' if hint else ''}"
        self._add(path, FieldReason.NOT_SUPPORTED, message, detail)

    def not_found(self, path: str, value: str) -> None:
        """Say that what the value refers to is not there."""
        self._add(path, FieldReason.NOT_FOUND, f"Not found: {json.dumps(value)}")

    def forbidden(self, path: str, detail: str) -> None:
        """Say that a field may not be set here."""
        self._add(path, FieldReason.FORBIDDEN, "Forbidden", detail)

    def too_long(self, path: str, limit_bytes: int) -> None:
        """Say how many bytes there may be."""
        detail = f"may not be more than {limit_bytes} bytes"
        self._add(path, FieldReason.TOO_LONG, "Too long", detail)

    def too_many(self, path: str, count: int, limit: int, what: str = "items") -> None:
        """Say how many entries there may be."""
        detail = f"must have at most {limit} {what}"
        self._add(path, FieldReason.TOO_MANY, f"Too many: {count}", detail)

    def wrong_type(self, path: str, detail: str) -> None:
        """Say which kind of value was expected."""
        self._add(path, FieldReason.TYPE_INVALID, "Invalid value", detail)

    def unknown(self, path: str, hint: str = "") -> None:
        """Say that the API has no such field."""
        self._add(path, FieldReason.UNKNOWN_FIELD, "unknown field", hint)

    def _add(self, path: str, reason: FieldReason, message: str, detail: str = "") -> None:
        self.found.append(FieldError(path, reason, f"{message}: {detail}" if detail else message))
