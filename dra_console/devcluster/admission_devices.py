"""Rules for what claims, templates, classes, slices and taint rules say.

They are the allocator's: it knows the kinds, and a form checks with the same code before it
submits. Unlike the real API server this one refuses unknown fields instead of dropping them.
"""

from collections.abc import Iterator

from dra_console.allocator.decoding.decode import decode_taint_rule
from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.slice_rules import check_taint
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_class,
    validate_slice,
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


def device_causes(kind: Kind, obj: JsonObject, *, namespace: JsonObject | None) -> Iterator[Cause]:
    """Yield what is wrong with the spec of an object of group resource.k8s.io.

    Raises:
        DecodeError: a taint rule has a field of another type than the API declares.

    """
    for error in _errors(kind, obj, namespace=namespace):
        yield Cause(error.field, error.reason, error.message)


def _errors(kind: Kind, obj: JsonObject, *, namespace: JsonObject | None) -> tuple[FieldError, ...]:
    labels = inside(namespace or {}, "metadata").text_map("labels")
    if kind == RESOURCE_CLAIMS:
        return validate_claim(obj, namespace_labels=labels)
    if kind == RESOURCE_CLAIM_TEMPLATES:
        return validate_template(obj, namespace_labels=labels)
    if kind == DEVICE_CLASSES:
        return validate_class(obj)
    if kind == RESOURCE_SLICES:
        return validate_slice(obj)
    if kind == DEVICE_TAINT_RULES:
        errors = FieldErrors()
        check_taint(decode_taint_rule(obj).taint, errors, path="spec.taint")
        return tuple(errors.found)
    return ()
