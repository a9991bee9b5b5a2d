"""What pages about a cluster share: which cluster, and what to say when there is none."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dra_console.access import rules
from dra_console.access.errors import RightsUnknownError
from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster
from dra_console.web.cluster_choice import HEADER, choose

Rest = ParamSpec("Rest")


def on_cluster(
    view: Callable[Concatenate[HttpRequest, Cluster, Rest], HttpResponse],
) -> Callable[Concatenate[HttpRequest, Rest], HttpResponse]:
    """Pass the chosen cluster to a view as its second argument; see `cluster_choice`.

    Without a cluster the page says how to add one; where the API server cannot be asked for
    rights it says so, since an empty page would look like a fact. Both answer 503.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponse:
        cluster = choose(request)
        if isinstance(cluster, HttpResponse):
            return cluster
        try:
            response = view(request, cluster, *args, **kwargs)
        except RightsUnknownError:
            response = render(
                request,
                "web/rights_unknown.html",
                {"reason": f"The API server of cluster {cluster.name} does not answer."},
                status=HTTPStatus.SERVICE_UNAVAILABLE,
            )
        response.headers[HEADER] = cluster.name
        return response

    return wrapped


def require_list(request: HttpRequest, cluster: Cluster, kind: Kind) -> None:
    """Refuse whoever may not list a kind in the whole cluster.

    Raises:
        PermissionDenied: they may not.
        RightsUnknownError: the API server could not be asked.

    """
    if not rules.may(request.user, cluster, "list", kind):
        raise PermissionDenied(f"You may not list {kind.plural} in cluster {cluster.name}.")


def person_of(request: HttpRequest) -> User:
    """Return the account that asks; writes are theirs.

    Raises:
        PermissionDenied: nobody is logged in, which LoginRequiredMiddleware rules out.

    """
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user
