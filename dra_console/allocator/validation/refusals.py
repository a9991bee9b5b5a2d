"""What the API server stores and nobody can use as it was meant.

Forms and the REST API refuse these up front, with the field that is to blame. They are not part
of `validate`: a cluster may hold such objects, and the dev cluster has to take what a real server
takes.
"""

from collections.abc import Iterator

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.decoding.decode import decode_claim_spec
from dra_console.allocator.decoding.versions import as_v1, is_flat
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import DEVICES_PER_CLAIM, EXACT_COUNT, ClaimSpec, DeviceRequest
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.validation.field_errors import FieldError, FieldErrors
from dra_console.allocator.validation.flat_paths import in_flat_version
from dra_console.allocator.validation.gated_fields import drop_disabled


def refuse_claim(claim: JsonObject, *, rules: Rules = DEFAULT_RULES) -> tuple[FieldError, ...]:
    """Say why a ResourceClaim could never be allocated as it is meant, on any node, at any time."""
    return _refused(claim, kind="ResourceClaim", path="spec", rules=rules)


def refuse_template(
    template: JsonObject, *, rules: Rules = DEFAULT_RULES
) -> tuple[FieldError, ...]:
    """Say likewise why no claim of a ResourceClaimTemplate could be."""
    return _refused(template, kind="ResourceClaimTemplate", path="spec.spec", rules=rules)


def _refused(obj: JsonObject, *, kind: str, path: str, rules: Rules) -> tuple[FieldError, ...]:
    errors = FieldErrors()
    try:
        lifted = as_v1({**obj, "kind": kind})
        _check_gates(kind, lifted, errors, rules=rules)
        raw = lifted.get("spec")
        if kind == "ResourceClaimTemplate":
            raw = raw.get("spec") if isinstance(raw, dict) else None
        _check_spec(decode_claim_spec(raw, path=path), errors, path=f"{path}.devices")
    except DecodeError:
        return ()  # `validate` has said so
    found = tuple(errors.found)
    return in_flat_version(found, kind=kind) if is_flat(obj) else found


def _check_gates(kind: str, obj: JsonObject, errors: FieldErrors, *, rules: Rules) -> None:
    _, dropped = drop_disabled(kind, obj, stored=None, rules=rules)
    for path, feature in dropped.items():
        if not path.startswith("status."):
            detail = f"feature gate {feature} is off, the API server would drop this unread"
            errors.forbidden(path, detail)


def _check_spec(spec: ClaimSpec, errors: FieldErrors, *, path: str) -> None:
    least = sum(map(_least_devices, spec.requests))
    if least > DEVICES_PER_CLAIM:
        errors.too_many(f"{path}.requests", least, DEVICES_PER_CLAIM, "devices in one claim")
    for index, constraint in enumerate(spec.constraints):
        if constraint.match_attribute is not None and constraint.distinct_attribute is not None:
            detail = "only `matchAttribute` would count beside it"
            errors.forbidden(f"{path}.constraints[{index}].distinctAttribute", detail)


def _least_devices(request: DeviceRequest) -> int:
    """Count the devices that a request takes at least; mode All is known on a node only."""
    return min(_counts(request), default=0)


def _counts(request: DeviceRequest) -> Iterator[int]:
    wishes = [alternative.wish for alternative in request.first_available]
    if request.exactly is not None:
        wishes = [request.exactly]
    for wish in wishes:
        yield wish.count if wish.allocation_mode == EXACT_COUNT else 1
