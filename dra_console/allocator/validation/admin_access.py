"""Admin access is for namespaces that allow it, by a label that admins alone can set."""

from collections.abc import Mapping
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors

ADMIN_ACCESS_LABEL: Final = "resource.kubernetes.io/admin-access"
NEEDS_LABEL: Final = (
    f"admin access to devices requires the `{ADMIN_ACCESS_LABEL}: true` label on "
    "the containing namespace"
)


def check_admin_request(
    spec: Fields, errors: FieldErrors, *, namespace_labels: Mapping[str, str] | None
) -> None:
    """Refuse admin access outside namespaces that allow it, once for a claim.

    The path has neither `exactly` nor a template's outer `spec`; so a 1.37 server prints it.
    """
    if _is_allowed(namespace_labels):
        return
    devices = spec.child("devices") or Fields("", {})
    for index, request in enumerate(devices.children("requests")):
        exactly = request.child("exactly")
        if exactly is not None and exactly.boolean("adminAccess"):
            errors.forbidden(f"spec.devices.requests[{index}].adminAccess", NEEDS_LABEL)
            return


def check_admin_result(
    status: Fields,
    errors: FieldErrors,
    *,
    stored: Fields,
    namespace_labels: Mapping[str, str] | None,
) -> None:
    """Refuse an allocation with admin access likewise, unless there was one before."""
    if _is_allowed(namespace_labels) or _admin_result(stored) is not None:
        return
    path = _admin_result(status)
    if path is not None:
        errors.forbidden(path, NEEDS_LABEL)


def _is_allowed(namespace_labels: Mapping[str, str] | None) -> bool:
    return namespace_labels is None or namespace_labels.get(ADMIN_ACCESS_LABEL) == "true"


def _admin_result(status: Fields) -> str | None:
    allocation = status.child("allocation")
    devices = allocation.child("devices") if allocation is not None else None
    for result in devices.children("results") if devices is not None else ():
        if result.boolean("adminAccess"):
            return result.path_of("adminAccess")
    return None
