"""From a request to its answer: identify, authorise, and call what answers it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from dra_console.devcluster.authn import Identity, authenticate
from dra_console.devcluster.authz import refusal
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import (
    ForbiddenError,
    MethodNotAllowedError,
    NotServedError,
)
from dra_console.devcluster.http_pages import PAGES
from dra_console.devcluster.http_paths import Target, parse_path
from dra_console.devcluster.http_read import get_object, list_objects
from dra_console.devcluster.http_request import Request, decode_object
from dra_console.devcluster.http_response import Response, Stream, json_response
from dra_console.devcluster.http_watch import watch_objects
from dra_console.devcluster.http_write import (
    create_object,
    delete_collection,
    delete_object,
    patch_object,
    update_object,
)
from dra_console.devcluster.impersonation import impersonated
from dra_console.devcluster.resources import SELF_SUBJECT_RULES_REVIEWS
from dra_console.devcluster.reviews import answer as answer_review
from dra_console.devcluster.store import Store
from dra_console.devcluster.subresources import SUBRESOURCE_REQUESTS
from dra_console.kube.kinds import SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_REVIEWS

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost")

OPEN_TO_ALL: Final = frozenset(
    {SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_RULES_REVIEWS, SELF_SUBJECT_REVIEWS}
)
"""Whoever is identified may ask about themselves (the role `system:basic-user`)."""

OBJECT_VERBS: Final[Mapping[str, Callable[[Store, Target, Request], Response]]] = MappingProxyType(
    {
        "get": get_object,
        "list": list_objects,
        "create": create_object,
        "update": update_object,
        "patch": patch_object,
        "delete": delete_object,
        "deletecollection": delete_collection,
    }
)


def answer(cluster: Cluster, request: Request) -> Response | Stream:
    """Answer a request.

    Raises:
        StatusError: the request is refused.

    """
    authorization = request.header("authorization")
    if not authorization:
        _refuse_web_page(request)
    caller = authenticate(authorization, store=cluster.store, signer=cluster.signer)
    identity = impersonated(caller, request, policy=cluster.policy)
    target = parse_path(request.path)
    if target is None:
        return _answer_path(request)
    verb = target.verb(request.method, watch=request.flag("watch"))
    attributes = target.attributes(verb)
    is_open = target.kind in OPEN_TO_ALL
    if not is_open and not cluster.policy.allows(identity, attributes):
        raise ForbiddenError(refusal(identity, attributes), kind=target.kind, name=target.name)
    if verb == "watch":
        return watch_objects(cluster.store, target, request)
    if target.subresource is not None and verb == "create":
        return SUBRESOURCE_REQUESTS[target.subresource.name](cluster, target, request)
    if not target.resource.is_stored:
        return _answer_review(cluster, target, request, asker=identity)
    return OBJECT_VERBS[verb](cluster.store, target, request)


def _refuse_web_page(request: Request) -> None:
    """Keep a page in somebody's browser from acting as the administrator.

    It reaches loopback as well as any local program, but says its origin; and where it had a
    name resolve to loopback, it says that name as the host.
    """
    host = urlsplit(f"//{request.header('host') or LOCAL_HOSTS[0]}").hostname
    if request.header("origin") or host not in LOCAL_HOSTS:
        raise ForbiddenError("web pages are not served without credentials")


def _answer_review(
    cluster: Cluster, target: Target, request: Request, *, asker: Identity
) -> Response:
    review = decode_object(request)
    answered = answer_review(cluster, target.kind, review, asker=asker)
    return json_response(answered, status=201)


def _answer_path(request: Request) -> Response:
    page = PAGES.get(request.path.rstrip("/"))
    if page is None:
        raise NotServedError("the server could not find the requested resource")
    if request.method != "GET":
        raise MethodNotAllowedError("the server does not allow this method on this path")
    return page(request)
