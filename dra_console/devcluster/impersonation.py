"""Acting as somebody else, by the `Impersonate-*` headers of a request."""

from typing import Final
from urllib.parse import unquote

from dra_console.devcluster.authn import (
    AUTHENTICATED_GROUP,
    Identity,
    service_account_groups,
)
from dra_console.devcluster.authz import Attributes, Policy, refusal
from dra_console.devcluster.errors import BadRequestError, ForbiddenError
from dra_console.devcluster.http_request import Request

EXTRA_HEADER: Final = "impersonate-extra-"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"
AUTHENTICATION_GROUP: Final = "authentication.k8s.io"


def impersonated(caller: Identity, request: Request, *, policy: Policy) -> Identity:
    """Return whom the request acts as: the caller, or whom the headers name.

    Raises:
        BadRequestError: groups, uid or extra without a user.
        ForbiddenError: the caller may not impersonate that user, group, uid or extra value.

    """
    username = request.header("impersonate-user")
    groups = [value for name, value in request.headers if name == "impersonate-group"]
    uid = request.header("impersonate-uid")
    extra: dict[str, tuple[str, ...]] = {}
    for name, value in request.headers:
        if name.startswith(EXTRA_HEADER):
            key = unquote(name.removeprefix(EXTRA_HEADER))
            extra[key] = (*extra.get(key, ()), value)
    if not username:
        if groups or uid or extra:
            raise BadRequestError("Impersonate-Group, -Uid and -Extra need Impersonate-User")
        return caller
    wanted = [_user(username), *(_attributes("groups", name=group) for group in groups)]
    if uid:
        wanted.append(_attributes("uids", group=AUTHENTICATION_GROUP, name=uid))
    for key, values in extra.items():
        wanted += [
            _attributes("userextras", group=AUTHENTICATION_GROUP, subresource=key, name=value)
            for value in values
        ]
    for attributes in wanted:
        if not policy.allows(caller, attributes):
            raise ForbiddenError(refusal(caller, attributes), name=attributes.name)
    return Identity(username, _groups(username, groups), uid, extra)


def _groups(username: str, groups: list[str]) -> tuple[str, ...]:
    account = username.removeprefix(ACCOUNT_PREFIX).split(":")
    if username.startswith(ACCOUNT_PREFIX) and not groups:
        return service_account_groups(account[0])
    return tuple(dict.fromkeys((*groups, AUTHENTICATED_GROUP)))


def _user(username: str) -> Attributes:
    if username.startswith(ACCOUNT_PREFIX):
        namespace, _, name = username.removeprefix(ACCOUNT_PREFIX).partition(":")
        return _attributes("serviceaccounts", namespace=namespace, name=name)
    return _attributes("users", name=username)


def _attributes(
    resource: str, *, name: str, group: str = "", subresource: str = "", namespace: str = ""
) -> Attributes:
    return Attributes(
        verb="impersonate",
        group=group,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )
