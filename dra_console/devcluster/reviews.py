"""Questions that the server answers about people: may they, who are they, is this their token."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.authn import Identity, identity_of, verified
from dra_console.devcluster.authz import MASTERS_GROUP, Attributes, Grant
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import BadRequestError
from dra_console.devcluster.resources import (
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
)
from dra_console.devcluster.tokens import DEFAULT_AUDIENCE, TokenError
from dra_console.kube.kinds import (
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    Kind,
)


def answer(cluster: Cluster, kind: Kind, review: JsonObject, *, asker: Identity) -> JsonObject:
    """Return the review with its `status`.

    Raises:
        BadRequestError: the review cannot be read; the message names the field.

    """
    spec = review.get("spec") or {}
    if not isinstance(spec, dict):
        raise BadRequestError("spec: expected an object")
    status = REVIEWS[kind](cluster, spec, asker)
    return {
        **review,
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": review.get("metadata") or {},
        "status": status,
    }


def _subject_access(cluster: Cluster, spec: JsonObject, _asker: Identity) -> JsonObject:
    username, groups = spec.get("user") or "", spec.get("groups") or []
    if not isinstance(username, str) or not isinstance(groups, list):
        raise BadRequestError("spec.user, spec.groups: expected a string and a list of strings")
    if not username and not groups:
        raise BadRequestError("spec.user: required, unless spec.groups is given")
    identity = Identity(username, tuple(str(group) for group in groups))
    return _access(cluster, spec, identity)


def _self_access(cluster: Cluster, spec: JsonObject, asker: Identity) -> JsonObject:
    return _access(cluster, spec, asker)


def _access(cluster: Cluster, spec: JsonObject, identity: Identity) -> JsonObject:
    asked = spec.get("resourceAttributes")
    if asked is None and spec.get("nonResourceAttributes") is not None:
        return {"allowed": True, "reason": "paths that are no resource are open"}
    if not isinstance(asked, dict):
        raise BadRequestError("spec.resourceAttributes: expected an object")
    attributes = Attributes(
        **{
            field: _text(asked, field)
            for field in ("verb", "group", "resource", "subresource", "namespace", "name")
        }
    )
    if not attributes.verb or not attributes.resource:
        raise BadRequestError("spec.resourceAttributes: verb and resource are required")
    return {"allowed": cluster.policy.allows(identity, attributes)}


def _self_rules(cluster: Cluster, spec: JsonObject, asker: Identity) -> JsonObject:
    namespace = _text(spec, "namespace")
    if not namespace:
        raise BadRequestError("spec.namespace: required")
    if MASTERS_GROUP in asker.groups:
        rules: list[Json] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    else:
        rules = [
            _rule(grant)
            for grant in cluster.policy.grants_of(asker)
            if grant.namespaces is None or namespace in grant.namespaces
        ]
    open_paths: list[Json] = [{"verbs": ["get"], "nonResourceURLs": ["*"]}]
    return {"resourceRules": rules, "nonResourceRules": open_paths, "incomplete": False}


def _rule(grant: Grant) -> Json:
    verbs: list[Json] = [*sorted(grant.verbs)]
    resources: list[Json] = [*sorted(grant.resources)]
    return {"verbs": verbs, "apiGroups": ["*"], "resources": resources}


def _self_subject(_cluster: Cluster, _spec: JsonObject, asker: Identity) -> JsonObject:
    return {"userInfo": _user_info(asker)}


def _token(cluster: Cluster, spec: JsonObject, _asker: Identity) -> JsonObject:
    audiences = spec.get("audiences") or [DEFAULT_AUDIENCE]
    token = spec.get("token")
    if not isinstance(token, str) or not token:
        raise BadRequestError("spec.token: expected a token")
    if not isinstance(audiences, list):
        raise BadRequestError("spec.audiences: expected a list of strings")
    try:
        read = verified(token, store=cluster.store, signer=cluster.signer)
    except TokenError as error:
        return {"authenticated": False, "error": str(error)}
    shared: list[Json] = [audience for audience in audiences if audience in read.audiences]
    if not shared:
        return {"authenticated": False, "error": "token audiences do not match the request's"}
    return {"authenticated": True, "user": _user_info(identity_of(read)), "audiences": shared}


def _user_info(identity: Identity) -> JsonObject:
    info: JsonObject = {"username": identity.username, "groups": list(identity.groups)}
    if identity.uid:
        info["uid"] = identity.uid
    if identity.extra:
        info["extra"] = {key: list(values) for key, values in identity.extra.items()}
    return info


def _text(obj: JsonObject, field: str) -> str:
    value = obj.get(field)
    if value is not None and not isinstance(value, str):
        raise BadRequestError(f"spec: {field}: expected a string, got {value!r}")
    return value or ""


REVIEWS: Final[Mapping[Kind, Callable[[Cluster, JsonObject, Identity], JsonObject]]] = (
    MappingProxyType(
        {
            SUBJECT_ACCESS_REVIEWS: _subject_access,
            LOCAL_SUBJECT_ACCESS_REVIEWS: _subject_access,
            SELF_SUBJECT_ACCESS_REVIEWS: _self_access,
            SELF_SUBJECT_RULES_REVIEWS: _self_rules,
            SELF_SUBJECT_REVIEWS: _self_subject,
            TOKEN_REVIEWS: _token,
        }
    )
)
