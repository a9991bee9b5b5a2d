"""Which cluster a page is about: always named in its address where there are several.

`/in/NAME/claims/` is the page `/claims/` about cluster NAME. While a page under `/in/NAME/` is
made, NAME is part of the script prefix, so every address that Django makes for it (links,
forms, redirects, live refreshes) stays in that cluster; two tabs on two clusters never mix.
`?cluster=NAME` says the same and wins.

An address that names no cluster means the only one. With several it leads on to the one that
this session saw last, else to the first by name; what would change something is refused
instead, and so is a live refresh of a page that was opened while there was only one.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import get_script_prefix, set_script_prefix
from django.utils.encoding import escape_uri_path

from dra_console.mirror.clusters import enabled_cluster, enabled_clusters
from dra_console.mirror.models import Cluster

PARAMETER: Final = "cluster"
SESSION_KEY: Final = "cluster"
HEADER: Final = "X-Mirror-Cluster"
NOT_PAGES: Final = ("/api/v1/", "/metrics", "/healthz", "/static/")
"""Programs' addresses name the cluster in their own way, or none."""

_PATH: Final = re.compile(r"/in/(?P<name>[-a-zA-Z0-9_]{1,63})(?P<rest>/.*)", re.DOTALL)

# Keys of `request.META`, which no header can set.
_IN_PATH: Final = "dra_console.cluster_in_path"
_CHOSEN: Final = "dra_console.cluster_chosen"
_BASE_PREFIX: Final = "dra_console.base_prefix"


def cluster_in_path(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Take `/in/NAME` off the path (middleware); strangers are told nothing of names."""

    def middleware(request: HttpRequest) -> HttpResponse:
        base = request.META[_BASE_PREFIX] = get_script_prefix()
        match = _PATH.fullmatch(request.path_info)
        if match and not match["rest"].startswith(NOT_PAGES):
            request.path_info = match["rest"]
            if request.user.is_authenticated:
                request.META[_IN_PATH] = match["name"]
                set_script_prefix(f"{base}in/{match['name']}/")
        try:
            return get_response(request)
        finally:
            set_script_prefix(base)

    return middleware


@contextmanager
def addresses_in(request: HttpRequest, cluster_name: str) -> Iterator[None]:
    """Have every address that is made inside the block lead into this cluster."""
    before = get_script_prefix()
    set_script_prefix(f"{request.META.get(_BASE_PREFIX, before)}in/{cluster_name}/")
    try:
        yield
    finally:
        set_script_prefix(before)


def choose(request: HttpRequest) -> Cluster | HttpResponse:
    """Return the cluster that the page is about, or the answer to give instead of the page.

    Settles on it, too.
    """
    named = request.GET.get(PARAMETER) or request.META.get(_IN_PATH)
    clusters = enabled_clusters()
    if named:
        try:
            cluster = enabled_cluster(named)
        except Cluster.DoesNotExist as error:
            return _unknown(request, str(error))
    elif not clusters:
        return render(request, "web/no_cluster.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
    elif len(clusters) > 1:
        return _lead_on(request, _remembered(request, clusters))
    else:
        [cluster] = clusters
    settle_on(request, cluster, is_one_of_several=len(clusters) > 1)
    return cluster


def settle_on(request: HttpRequest, cluster: Cluster, *, is_one_of_several: bool) -> None:
    """Remember the cluster for the session, and let every address that is made lead into it."""
    request.META[_CHOSEN] = cluster
    if request.session.get(SESSION_KEY) != cluster.name:
        request.session[SESSION_KEY] = cluster.name
    if is_one_of_several:
        set_script_prefix(f"{request.META[_BASE_PREFIX]}in/{cluster.name}/")


def shown_cluster(request: HttpRequest, clusters: list[Cluster]) -> Cluster | None:
    """Return the cluster that the frame of a page names; pages about none show the last one."""
    chosen = request.META.get(_CHOSEN)
    if isinstance(chosen, Cluster):
        return chosen
    return _remembered(request, clusters) if clusters else None


def _remembered(request: HttpRequest, clusters: list[Cluster]) -> Cluster:
    """Return the cluster of the address or the session if it is enabled, else the first one."""
    # Error pages may come without a session.
    session = getattr(request, "session", {})
    wanted = (request.META.get(_IN_PATH), session.get(SESSION_KEY))
    by_name = {cluster.name: cluster for cluster in clusters}
    return next((by_name[name] for name in wanted if name in by_name), clusters[0])


def _lead_on(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    if request.method not in {"GET", "HEAD"}:
        reason = "This form does not say which of the clusters it is for"
        return render(
            request, "web/which_cluster.html", {"reason": reason}, status=HTTPStatus.BAD_REQUEST
        )
    if "HX-Request" in request.headers:
        return HttpResponse(headers={"HX-Refresh": "true"})
    query = request.META.get("QUERY_STRING", "")
    prefix = f"{request.META[_BASE_PREFIX]}in/{cluster.name}"
    path = escape_uri_path(request.path_info)
    return redirect(f"{prefix}{path}{'?' if query else ''}{query}")


def _unknown(request: HttpRequest, reason: str) -> HttpResponse:
    # The frame shall lead to what there is.
    set_script_prefix(request.META[_BASE_PREFIX])
    request.META.pop(_IN_PATH, None)
    headline = f"{reason[:1].upper()}{reason[1:]}"
    return render(
        request, "web/which_cluster.html", {"reason": headline}, status=HTTPStatus.NOT_FOUND
    )
