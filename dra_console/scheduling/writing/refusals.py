"""Why the API server said no, in words that a person can act on."""

from typing import Final

from dra_console.kube.errors import ApiError, ForbiddenError, InvalidError, KubeconfigError

PASSING: Final = frozenset({401, 409, 429})
"""Refusals that end by themselves: renewed credentials, a busy object, a busy server."""

RETRY_SECONDS: Final = 1.0
"""When a server that failed is asked again, unless it says itself when."""

DOCUMENTED: Final = "docs/operating.md lists what allocating needs"
_RIGHTS: Final = (
    ("resourceclaims/binding", "update on resourceclaims/binding (resource.k8s.io)"),
    ("resourceclaims/driver", "arbitrary-node:update on resourceclaims/driver (resource.k8s.io)"),
    ("resourceclaims/status", "update on resourceclaims/status (resource.k8s.io)"),
    ("pods/binding", "create on pods/binding"),
    ("pods/status", "patch on pods/status"),
    ("resourceclaims", "update on resourceclaims (resource.k8s.io)"),
    ("events", "create and patch on events"),
)
"""What a server's message names, the longest first, and the right that it stands for."""


def is_final(error: ApiError) -> bool:
    """Tell whether the server will say the same again until somebody changes something."""
    if isinstance(error, KubeconfigError) or error.status in PASSING:
        return False
    return bool(error.status) and error.status in range(400, 500)


def retry_after_seconds(error: ApiError) -> float:
    """Return when to try again: as the server asks, or soon."""
    asked = error.retry_after_seconds
    return RETRY_SECONDS if asked is None else max(float(asked), RETRY_SECONDS)


def in_words(error: ApiError) -> str:
    """Say what is missing; the server's own words follow."""
    is_right = isinstance(error, ForbiddenError) or (
        # So servers answer since 1.36, where the status is authorised field by field.
        isinstance(error, InvalidError) and "permission" in error.message
    )
    if not is_right:
        return error.message
    right = next((right for named, right in _RIGHTS if named in error.message), None)
    if right is None:
        return error.message
    return f"the console lacks a right: {right}; {DOCUMENTED}. {error.message}"
