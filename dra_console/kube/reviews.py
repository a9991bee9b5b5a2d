"""Ask the API server who somebody is and what they may do (authentication, authorization)."""

from dataclasses import dataclass
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client, User
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, Kind

NODE_NAME_EXTRA: Final = "authentication.kubernetes.io/node-name"
"""Set in tokens of pods: the node that the pod runs on (KEP-4193)."""


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """Whose token it is, as the API server says."""

    username: str
    groups: tuple[str, ...]

    node_name: str
    """Node of the pod that the token was issued for; empty if the token is bound to none."""


def subject_access(  # noqa: PLR0913 - the attributes of a SubjectAccessReview
    client: Client,
    *,
    user: User,
    verb: str,
    kind: Kind,
    namespace: str | None = None,
    name: str | None = None,
    subresource: str = "",
) -> bool:
    """Tell whether `user` may do it; without `namespace`, whether in all namespaces.

    Raises:
        ApiError: the API server did not say; this is no permission.

    """
    attributes: JsonObject = {
        "group": kind.group,
        # Rights are of a resource, whichever version of it is spoken.
        "version": "*",
        "resource": kind.plural,
        "verb": verb,
    }
    if namespace is not None:
        attributes["namespace"] = namespace
    if name is not None:
        attributes["name"] = name
    if subresource:
        attributes["subresource"] = subresource
    spec: JsonObject = {"user": user.username, "resourceAttributes": attributes}
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    status = _status(_review(client, SUBJECT_ACCESS_REVIEWS, spec=spec))
    return status.get("allowed") is True


def review_token(client: Client, token: str, *, audience: str) -> TokenIdentity | None:
    """Say whose token it is, or `None` if it is nobody's or not meant for `audience`.

    Raises:
        ApiError: the API server did not say.

    """
    spec: JsonObject = {"token": token, "audiences": [audience]}
    status = _status(_review(client, TOKEN_REVIEWS, spec=spec))
    audiences, user = status.get("audiences"), status.get("user")
    if status.get("authenticated") is not True or not isinstance(user, dict):
        return None
    # An authenticator that knows no audiences leaves them out: then the token was not
    # checked for ours (TokenReviewStatus.audiences).
    if not isinstance(audiences, list) or audience not in audiences:
        return None
    extra = user.get("extra")
    node_names = _texts(extra.get(NODE_NAME_EXTRA)) if isinstance(extra, dict) else ()
    username = user.get("username")
    return TokenIdentity(
        username=username if isinstance(username, str) else "",
        groups=_texts(user.get("groups")),
        node_name=node_names[0] if node_names else "",
    )


def _review(client: Client, kind: Kind, *, spec: JsonObject) -> JsonObject:
    return client.review(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec})


def _status(review: JsonObject) -> JsonObject:
    status = review.get("status")
    if not isinstance(status, dict):
        raise ApiError(f"status: expected the review's answer, got {status!r}")
    return status


def _texts(values: Json) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(value for value in values if isinstance(value, str))
