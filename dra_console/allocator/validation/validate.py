"""Would the API server take this object? Used by forms, the REST API and the dev cluster.

First the fields and their types: an unknown field is reported with a hint where it belongs,
instead of being dropped. Then, on the v1 shape and without what a feature gate drops, the rules.
Each stage is reached only if the one before found nothing, as on the server. Paths and causes are
the server's; for versions before v1beta2 the paths are those of that version.

With `stored`, the question is whether the object may replace the stored one. What a server takes
and nobody can use is in `refusals`.
"""

from collections.abc import Mapping
from typing import Final

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.decoding.versions import is_flat
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.validation.admin_access import (
    ADMIN_ACCESS_LABEL,
    check_admin_request,
    check_admin_result,
)
from dra_console.allocator.validation.claim_rules import check_claim_spec
from dra_console.allocator.validation.claim_shapes import (
    CLASS,
    TAINT_RULE,
    claim_shape,
    claim_spec_shape,
    template_shape,
    template_spec_shape,
)
from dra_console.allocator.validation.cluster_rules import (
    check_class_spec,
    check_taint_rule_spec,
)
from dra_console.allocator.validation.condition_rules import check_conditions
from dra_console.allocator.validation.field_errors import FieldError, FieldErrors, FieldReason
from dra_console.allocator.validation.immutability import check_unchanged, check_unchanged_spec
from dra_console.allocator.validation.metadata_rules import (
    check_metadata,
    check_template_metadata,
)
from dra_console.allocator.validation.request_names import RequestNames
from dra_console.allocator.validation.shapes import ObjectOf
from dra_console.allocator.validation.slice_rules import check_slice_spec
from dra_console.allocator.validation.slice_shapes import slice_shape
from dra_console.allocator.validation.stages import Submission, part_of, validated
from dra_console.allocator.validation.status_rules import check_status

__all__ = [
    "ADMIN_ACCESS_LABEL",
    "FieldError",
    "FieldReason",
    "validate_claim",
    "validate_claim_spec",
    "validate_claim_status",
    "validate_class",
    "validate_slice",
    "validate_taint_rule",
    "validate_taint_rule_status",
    "validate_template",
]

RULE_CONDITIONS_LIMIT: Final = 8


def validate_claim_spec(obj: JsonObject, *, rules: Rules = DEFAULT_RULES) -> tuple[FieldError, ...]:
    """Check the spec of a claim in the v1 shape, as a form builds it."""

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_claim_spec(submission.spec, errors, rules=rules)

    whole: JsonObject = {"spec": obj}
    shape = ObjectOf({"spec": claim_spec_shape(is_flat=False)})
    return validated(whole, check, kind="ResourceClaim", shape=shape, stored=None, rules=rules)


def validate_claim(
    obj: JsonObject,
    *,
    stored: JsonObject | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    rules: Rules = DEFAULT_RULES,
) -> tuple[FieldError, ...]:
    """Check a ResourceClaim; its status only for its types.

    Admin access is checked if the labels of the claim's namespace are given.
    """

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_metadata(submission.whole, errors, is_namespaced=True)
        if submission.stored is not None:
            shape = claim_spec_shape(is_flat=False)
            check_unchanged_spec(submission.obj, errors, stored=submission.stored, shape=shape)
            return
        check_admin_request(submission.spec, errors, namespace_labels=namespace_labels)
        check_claim_spec(submission.spec, errors, rules=rules)

    return validated(
        obj,
        check,
        kind="ResourceClaim",
        shape=claim_shape(is_flat=is_flat(obj)),
        stored=stored,
        rules=rules,
    )


def validate_claim_status(
    obj: JsonObject,
    *,
    stored: JsonObject,
    namespace_labels: Mapping[str, str] | None = None,
    rules: Rules = DEFAULT_RULES,
) -> tuple[FieldError, ...]:
    """Check the status of a ResourceClaim that is to replace the stored one's.

    Spec and metadata are the stored ones, whatever the object says of them.
    """

    def check(submission: Submission, errors: FieldErrors) -> None:
        before = submission.stored or {}
        devices = part_of(before, "spec").child("devices") or Fields("spec.devices", {})
        status, old = part_of(submission.obj, "status"), part_of(before, "status")
        check_admin_result(status, errors, stored=old, namespace_labels=namespace_labels)
        is_deleting = part_of(before, "metadata").has("deletionTimestamp")
        known = RequestNames.of(devices)
        check_status(status, errors, stored=old, known=known, is_deleting=is_deleting)

    return validated(
        obj,
        check,
        kind="ResourceClaim",
        shape=claim_shape(is_flat=is_flat(obj)),
        stored=stored,
        rules=rules,
    )


def validate_template(
    obj: JsonObject,
    *,
    stored: JsonObject | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    rules: Rules = DEFAULT_RULES,
) -> tuple[FieldError, ...]:
    """Check a ResourceClaimTemplate; unlike a claim's its spec is looked at in updates as well.

    Admin access is checked if the labels of the template's namespace are given.
    """

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_metadata(submission.whole, errors, is_namespaced=True)
        inside = submission.spec.child("spec") or Fields("spec.spec", {})
        if submission.stored is None:
            check_admin_request(inside, errors, namespace_labels=namespace_labels)
        else:
            shape = template_spec_shape(is_flat=False)
            check_unchanged_spec(submission.obj, errors, stored=submission.stored, shape=shape)
        check_template_metadata(submission.spec, errors)
        check_claim_spec(inside, errors, rules=rules)

    return validated(
        obj,
        check,
        kind="ResourceClaimTemplate",
        shape=template_shape(is_flat=is_flat(obj)),
        stored=stored,
        rules=rules,
    )


def validate_class(
    obj: JsonObject, *, stored: JsonObject | None = None, rules: Rules = DEFAULT_RULES
) -> tuple[FieldError, ...]:
    """Check a DeviceClass."""

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_metadata(submission.whole, errors, is_namespaced=False)
        check_class_spec(submission.spec, errors, stored=submission.stored_spec, rules=rules)

    return validated(obj, check, kind="DeviceClass", shape=CLASS, stored=stored, rules=rules)


def validate_slice(
    obj: JsonObject, *, stored: JsonObject | None = None, rules: Rules = DEFAULT_RULES
) -> tuple[FieldError, ...]:
    """Check a ResourceSlice on its own; what its pool makes of it is the allocator's business."""

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_metadata(submission.whole, errors, is_namespaced=False)
        before = submission.stored_spec
        if before is not None:
            check_unchanged(submission.spec, errors, stored=before)
        check_slice_spec(submission.spec, errors, stored=before, rules=rules)

    return validated(
        obj,
        check,
        kind="ResourceSlice",
        shape=slice_shape(is_flat=is_flat(obj)),
        stored=stored,
        rules=rules,
    )


def validate_taint_rule(
    obj: JsonObject, *, stored: JsonObject | None = None, rules: Rules = DEFAULT_RULES
) -> tuple[FieldError, ...]:
    """Check a DeviceTaintRule; its status only for its types."""

    def check(submission: Submission, errors: FieldErrors) -> None:
        check_metadata(submission.whole, errors, is_namespaced=False)
        check_taint_rule_spec(submission.spec, errors, stored=submission.stored_spec)

    return validated(
        obj, check, kind="DeviceTaintRule", shape=TAINT_RULE, stored=stored, rules=rules
    )


def validate_taint_rule_status(
    obj: JsonObject, *, rules: Rules = DEFAULT_RULES
) -> tuple[FieldError, ...]:
    """Check the status of a DeviceTaintRule."""

    def check(submission: Submission, errors: FieldErrors) -> None:
        status = part_of(submission.obj, "status")
        check_conditions(status, errors, limit=RULE_CONDITIONS_LIMIT)

    return validated(obj, check, kind="DeviceTaintRule", shape=TAINT_RULE, stored=None, rules=rules)
