"""Who sends a request: loopback without credentials, a service account, an impersonated user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

AUTHENTICATED_GROUP: Final = "system:authenticated"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user as the API server knows him."""

    username: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ADMIN: Final = Identity("system:admin", ("system:masters", AUTHENTICATED_GROUP))
"""Who sends requests without credentials, as `kubectl proxy` does. The server binds loopback only."""
