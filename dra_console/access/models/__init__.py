"""People's Kubernetes identities, their API tokens, and what they did."""

from dra_console.access.models.audit import AuditEntry, Outcome
from dra_console.access.models.profile import FORBIDDEN_GROUPS, Profile, Theme
from dra_console.access.models.tokens import ApiToken, Scope

__all__ = [
    "FORBIDDEN_GROUPS",
    "ApiToken",
    "AuditEntry",
    "Outcome",
    "Profile",
    "Scope",
    "Theme",
]
