"""Who sends a request, by its bearer token or its lack of one."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dra_console.devcluster.errors import NotFoundError, UnauthorizedError
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import (
    DEFAULT_AUDIENCE,
    Reference,
    ServiceAccountToken,
    Signer,
    TokenError,
)
from dra_console.kube.kinds import NODES, PODS, SERVICE_ACCOUNTS, Kind

AUTHENTICATED_GROUP: Final = "system:authenticated"
SERVICE_ACCOUNTS_GROUP: Final = "system:serviceaccounts"
EXTRA_PREFIX: Final = "authentication.kubernetes.io"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user as the API server knows them."""

    username: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


ADMIN: Final = Identity("system:admin", ("system:masters", AUTHENTICATED_GROUP))
"""Who sends a request without credentials, as with `kubectl proxy`; only loopback is served."""


def authenticate(authorization: str, *, store: Store, signer: Signer) -> Identity:
    """Identify the sender by the `Authorization` header; without one it is the administrator.

    Raises:
        UnauthorizedError: credentials that this server does not accept.

    """
    if not authorization:
        return ADMIN
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        raise UnauthorizedError("Unauthorized")
    try:
        read = verified(token.strip(), store=store, signer=signer)
    except TokenError as error:
        raise UnauthorizedError("Unauthorized") from error
    if DEFAULT_AUDIENCE not in read.audiences:
        raise UnauthorizedError("Unauthorized")
    return identity_of(read)


def verified(token: str, *, store: Store, signer: Signer) -> ServiceAccountToken:
    """Check a token, and that the account and the objects it is bound to are still there.

    Raises:
        TokenError: it is not valid; the message says why.

    """
    read = signer.read(token, now_seconds=time.time())
    bonds = (
        (SERVICE_ACCOUNTS, read.namespace, read.account),
        (PODS, read.namespace, read.pod),
        (NODES, "", None if read.pod else read.node),
    )
    for kind, namespace, reference in bonds:
        if reference is not None and not _exists(store, kind, namespace, reference):
            raise TokenError(f"the token's {kind.kind} {reference.name!r} is gone")
    return read


def identity_of(token: ServiceAccountToken) -> Identity:
    """Return the user that a valid token stands for."""
    extra = {"credential-id": (f"JTI={token.token_id}",)}
    for word, reference in (("pod", token.pod), ("node", token.node)):
        if reference is not None:
            extra[f"{word}-name"] = (reference.name,)
            extra[f"{word}-uid"] = (reference.uid,)
    return Identity(
        token.username,
        service_account_groups(token.namespace),
        token.account.uid,
        {f"{EXTRA_PREFIX}/{key}": values for key, values in extra.items()},
    )


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups that every service account of a namespace is in."""
    return (
        SERVICE_ACCOUNTS_GROUP,
        f"{SERVICE_ACCOUNTS_GROUP}:{namespace}",
        AUTHENTICATED_GROUP,
    )


def _exists(store: Store, kind: Kind, namespace: str, reference: Reference) -> bool:
    try:
        found = store.stored(kind, namespace, reference.name)
    except NotFoundError:
        return False
    return metadata_of(found.value)["uid"] == reference.uid
