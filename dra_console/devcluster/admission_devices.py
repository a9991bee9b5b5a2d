"""Rules for claims, templates, classes, slices and taint rules.

They are the allocator's: it knows the kinds, and a form checks with the same code before it
submits. Unlike a real API server this one always decodes strictly: an unknown field is refused
instead of being dropped.
"""

from dra_console.allocator.model import JsonObject
from dra_console.allocator.rules import DEFAULT_RULES
from dra_console.allocator.validation.gated_fields import drop_disabled
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
from dra_console.devcluster.errors import Cause
from dra_console.devcluster.fields import inside
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)

DEVICE_KINDS = frozenset(
    {
        DEVICE_CLASSES,
        DEVICE_TAINT_RULES,
        RESOURCE_CLAIM_TEMPLATES,
        RESOURCE_CLAIMS,
        RESOURCE_SLICES,
    }
)
"""Kinds of group resource.k8s.io, whose metadata is checked here as well."""


def drop_disabled_fields(kind: Kind, obj: JsonObject, *, old: JsonObject | None = None) -> None:
    """Take out in place what a server of this release does not store by default."""
    if kind in DEVICE_KINDS:
        kept, dropped = drop_disabled(kind.kind, obj, stored=old, rules=DEFAULT_RULES)
        if dropped:
            obj.clear()
            obj.update(kept)


def device_causes(
    kind: Kind,
    obj: JsonObject,
    *,
    old: JsonObject | None = None,
    subresource: str = "",
    namespace: JsonObject | None,
) -> tuple[Cause, ...]:
    """List what is wrong with an object that is to be created, or to replace `old`."""
    labels = inside(namespace or {}, "metadata").text_map("labels")
    errors: tuple[FieldError, ...] = ()
    if kind == RESOURCE_CLAIMS and old is not None and subresource == "status":
        errors = validate_claim_status(obj, stored=old, namespace_labels=labels)
    elif kind == RESOURCE_CLAIMS:
        errors = validate_claim(obj, stored=old, namespace_labels=labels)
    elif kind == RESOURCE_CLAIM_TEMPLATES:
        errors = validate_template(obj, stored=old, namespace_labels=labels)
    elif kind == DEVICE_CLASSES:
        errors = validate_class(obj, stored=old)
    elif kind == RESOURCE_SLICES:
        errors = validate_slice(obj, stored=old)
    elif kind == DEVICE_TAINT_RULES and subresource == "status":
        errors = validate_taint_rule_status(obj)
    elif kind == DEVICE_TAINT_RULES:
        errors = validate_taint_rule(obj, stored=old)
    return tuple(Cause(error.field, error.reason, error.message) for error in errors)
