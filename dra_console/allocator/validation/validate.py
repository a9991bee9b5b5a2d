"""Would the API server take this object? Used by forms, the REST API and the dev cluster.

First the fields: an unknown one is reported with a hint where it belongs, instead of being
dropped. Then the types, then the rules. Each stage is reached only if the one before found
nothing, as on the server. Paths, causes and messages are the server's; for versions before
v1beta2 the paths are those of that version.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_claim_spec,
    decode_class,
    decode_slice,
    decode_template,
)
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.decoding.versions import GROUP, is_flat
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import ClaimSpec, JsonObject
from dra_console.allocator.validation.claim_rules import (
    LIST_LIMIT,
    check_claim_spec,
    check_opaque,
    check_selectors,
)
from dra_console.allocator.validation.field_errors import FieldError, FieldErrors, FieldReason
from dra_console.allocator.validation.known_fields import (
    CLASS,
    Shape,
    claim_spec_shape,
    report_unknown,
    slice_shape,
)
from dra_console.allocator.validation.slice_rules import check_slice

__all__ = [
    "ADMIN_ACCESS_LABEL",
    "FieldError",
    "FieldReason",
    "validate_claim",
    "validate_claim_spec",
    "validate_class",
    "validate_slice",
    "validate_template",
]

ADMIN_ACCESS_LABEL: Final = "resource.kubernetes.io/admin-access"
VERSIONS: Final = tuple(f"{GROUP}/{version}" for version in ("v1", "v1beta2", "v1beta1"))
TEMPLATE_METADATA: Final[Mapping[str, Shape]] = {"labels": None, "annotations": None}


def validate_claim_spec(obj: JsonObject) -> tuple[FieldError, ...]:
    """Check the spec of a claim in the v1 shape, as a form builds it."""

    def check(errors: FieldErrors) -> None:
        check_claim_spec(decode_claim_spec(obj), errors, path="spec")

    return _validated({"spec": obj}, {"spec": claim_spec_shape(is_flat=False)}, check)


def validate_claim(
    obj: JsonObject, *, namespace_labels: Mapping[str, str] | None = None
) -> tuple[FieldError, ...]:
    """Check a ResourceClaim without its status.

    Admin access is checked if the labels of the claim's namespace are given.
    """

    def check(errors: FieldErrors) -> None:
        _check_metadata(obj, errors)
        claim = decode_claim(obj)
        check_claim_spec(claim.spec, errors, path="spec")
        _check_admin_access(claim.spec, errors, namespace_labels=namespace_labels)

    return _validated(obj, {"spec": claim_spec_shape(is_flat=is_flat(obj))}, check)


def validate_template(
    obj: JsonObject, *, namespace_labels: Mapping[str, str] | None = None
) -> tuple[FieldError, ...]:
    """Check a ResourceClaimTemplate.

    Admin access is checked if the labels of the template's namespace are given.
    """

    def check(errors: FieldErrors) -> None:
        _check_metadata(obj, errors)
        template = decode_template(obj)
        check_claim_spec(template.spec, errors, path="spec.spec")
        _check_admin_access(template.spec, errors, namespace_labels=namespace_labels)

    spec: Shape = {"metadata": TEMPLATE_METADATA, "spec": claim_spec_shape(is_flat=is_flat(obj))}
    return _validated(obj, {"spec": spec}, check)


def validate_class(obj: JsonObject) -> tuple[FieldError, ...]:
    """Check a DeviceClass."""

    def check(errors: FieldErrors) -> None:
        _check_metadata(obj, errors)
        device_class = decode_class(obj)
        check_selectors(device_class.selectors, errors, path="spec.selectors")
        if len(device_class.config) > LIST_LIMIT:
            errors.too_many("spec.config", len(device_class.config), LIST_LIMIT)
        else:
            for index, opaque in enumerate(device_class.config):
                check_opaque(opaque, errors, path=f"spec.config[{index}]")
        name = device_class.extended_resource_name
        if name is not None:
            for detail in names.extended_resource_name(name):
                errors.invalid("spec.extendedResourceName", name, detail)

    return _validated(obj, CLASS, check)


def validate_slice(obj: JsonObject) -> tuple[FieldError, ...]:
    """Check a ResourceSlice on its own; what its pool makes of it is the allocator's business."""

    def check(errors: FieldErrors) -> None:
        _check_metadata(obj, errors)
        check_slice(decode_slice(obj), errors)

    return _validated(obj, slice_shape(is_flat=is_flat(obj)), check)


def _validated(
    obj: JsonObject, shape: Shape, check: Callable[[FieldErrors], None]
) -> tuple[FieldError, ...]:
    errors = FieldErrors()
    version = obj.get("apiVersion")
    if version is not None and version not in VERSIONS:
        errors.not_supported("apiVersion", str(version), VERSIONS)
        return tuple(errors.found)
    if isinstance(shape, Mapping):
        for name, inside in shape.items():
            report_unknown(obj.get(name), inside, errors, path=name)
    if errors.found:
        return tuple(errors.found)
    try:
        check(errors)
    except DecodeError as error:
        errors.wrong_type(error.path, error.message)
    if is_flat(obj):
        return tuple(
            replace(error, field=error.field.replace(".exactly", "")) for error in errors.found
        )
    return tuple(errors.found)


def _check_metadata(obj: JsonObject, errors: FieldErrors) -> None:
    metadata = Fields.at("", obj).child("metadata") or Fields("metadata", {})
    name = metadata.text("name")
    if not name and not metadata.text("generateName"):
        errors.required("metadata.name", "name or generateName is required")
    for detail in names.dns_subdomain(name) if name else ():
        errors.invalid("metadata.name", name, detail)


def _check_admin_access(
    spec: ClaimSpec, errors: FieldErrors, *, namespace_labels: Mapping[str, str] | None
) -> None:
    """Refuse admin access outside namespaces that allow it.

    The path has neither `exactly` nor a template's outer `spec`; so a 1.37 server prints it.
    """
    if namespace_labels is None or namespace_labels.get(ADMIN_ACCESS_LABEL) == "true":
        return
    for index, request in enumerate(spec.requests):
        if request.exactly is not None and request.exactly.admin_access:
            errors.forbidden(
                f"spec.devices.requests[{index}].adminAccess",
                f"admin access to devices requires the `{ADMIN_ACCESS_LABEL}: true` label on "
                "the containing namespace",
            )
