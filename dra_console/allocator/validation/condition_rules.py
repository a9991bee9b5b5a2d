"""Rules for the standard conditions of a status (`meta/v1` Condition)."""

import re
from collections.abc import Iterator
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_required, check_unique, listed

STATUSES: Final = ("False", "True", "Unknown")
REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
REASON_LIMIT_BYTES: Final = 1024
MESSAGE_LIMIT_BYTES: Final = 32 * 1024


def check_conditions(owner: Fields, errors: FieldErrors, *, limit: int) -> None:
    """Check the field `conditions`; too many of them are looked at all the same."""
    conditions, path = listed(owner, "conditions"), owner.path_of("conditions")
    if len(conditions) > limit:
        errors.too_many(path, len(conditions), limit)
    check_unique([each.text("type") for each in conditions], errors, path=path)
    for condition in conditions:
        _check_condition(condition, errors)


def _check_condition(condition: Fields, errors: FieldErrors) -> None:
    check_required(condition.text("type"), names.label_key, errors, path=condition.path_of("type"))
    status = condition.text("status")
    if not status:
        errors.required(condition.path_of("status"))
    elif status not in STATUSES:
        errors.not_supported(condition.path_of("status"), status, STATUSES)
    generation = condition.integer("observedGeneration") or 0
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.invalid(condition.path_of("observedGeneration"), generation, detail)
    if not condition.has("lastTransitionTime"):
        errors.required(condition.path_of("lastTransitionTime"))
    reason = condition.text("reason")
    check_required(reason, _reason, errors, path=condition.path_of("reason"))
    for field, text, limit in (
        ("reason", reason, REASON_LIMIT_BYTES),
        ("message", condition.text("message"), MESSAGE_LIMIT_BYTES),
    ):
        if names.size_bytes(text) > limit:
            errors.too_long(condition.path_of(field), limit)


def _reason(text: str) -> Iterator[str]:
    if not REASON.fullmatch(text):
        yield "must be one word of letters, digits, '_', ',' and ':' that starts with a letter"
