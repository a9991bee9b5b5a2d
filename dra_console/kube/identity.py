"""As whom requests are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from dra_console.kube.transport import Headers


@dataclass(frozen=True, slots=True)
class User:
    """A Kubernetes identity, as impersonation and SubjectAccessReviews name it."""

    username: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def impersonation_headers(user: User) -> Headers:
    """Spell the headers of user impersonation (Kubernetes reference, "Authentication")."""
    headers = [("Impersonate-User", user.username)]
    headers += [("Impersonate-Group", group) for group in user.groups]
    if user.uid:
        headers.append(("Impersonate-Uid", user.uid))
    headers += [
        (f"Impersonate-Extra-{quote(key.lower(), safe='')}", value)
        for key, values in user.extra.items()
        for value in values
    ]
    # Go reads header bytes as UTF-8, http.client writes text as Latin-1.
    return tuple((name, value.encode().decode("latin-1")) for name, value in headers)
