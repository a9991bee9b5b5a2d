"""What an API server says of itself, and of us to it."""

from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ForbiddenError, NotFoundError
from dra_console.kube.kinds import (
    RESOURCE_CLAIMS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    Kind,
)

MIRROR_VERBS: Final = ("list", "watch")
"""What following a kind takes."""


def server_version(client: Client) -> str:
    """Return `gitVersion`, such as `v1.37.2`.

    Raises:
        ApiError: the API server did not answer, or not like one.

    """
    version = client.read("/version").get("gitVersion")
    if not isinstance(version, str):
        raise ApiError(f"/version: expected gitVersion, got {version!r}")
    return version


def resource_versions(client: Client) -> tuple[str, ...]:
    """Return the served versions of resource.k8s.io, the server's favourite first.

    Raises:
        ApiError: the API server did not answer.

    """
    try:
        group = client.read(f"/apis/{RESOURCE_CLAIMS.group}")
    except NotFoundError:
        return ()
    versions = group.get("versions")
    if not isinstance(versions, list):
        raise ApiError(f"{RESOURCE_CLAIMS.group}: expected versions, got {versions!r}")
    return tuple(
        version
        for entry in versions
        if isinstance(entry, dict) and isinstance(version := entry.get("version"), str)
    )


def own_username(client: Client) -> str:
    """Return who we are to the API server; empty where it does not tell (before 1.28).

    Raises:
        ApiError: the API server did not answer.

    """
    try:
        review = client.review(SELF_SUBJECT_REVIEWS, _body(SELF_SUBJECT_REVIEWS))
    except (ForbiddenError, NotFoundError):
        return ""
    status = review.get("status")
    user = status.get("userInfo") if isinstance(status, dict) else None
    username = user.get("username") if isinstance(user, dict) else None
    return username if isinstance(username, str) else ""


def missing_verbs(client: Client, kind: Kind) -> tuple[str, ...]:
    """Return which of `MIRROR_VERBS` we may not use on this kind in the whole cluster.

    Raises:
        ApiError: the API server did not answer.

    """
    return tuple(verb for verb in MIRROR_VERBS if not _may(client, verb, kind))


def _may(client: Client, verb: str, kind: Kind) -> bool:
    attributes: JsonObject = {"group": kind.group, "resource": kind.plural, "verb": verb}
    body = _body(SELF_SUBJECT_ACCESS_REVIEWS, resourceAttributes=attributes)
    status = client.review(SELF_SUBJECT_ACCESS_REVIEWS, body).get("status")
    return isinstance(status, dict) and status.get("allowed") is True


def _body(kind: Kind, **spec: Json) -> JsonObject:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
