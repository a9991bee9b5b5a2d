"""The clusters that this console follows, and how well; one of them kind by kind."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console.access.errors import RightsUnknownError
from dra_console.access.inspection import may_inspect
from dra_console.access.problems import visible_problems
from dra_console.mirror.clock import database_now
from dra_console.mirror.clusters import cluster_named, enabled_clusters
from dra_console.mirror.models import Cluster
from dra_console.sync.following import follow_states
from dra_console.web.cluster_choice import settle_on
from dra_console.web.presenters.clusters import cluster_line, cluster_page
from dra_console.web.presenters.object_problems import problem_lines

PROBLEMS_SHOWN = 100


@require_safe
@vary_on_headers("HX-Request")
def clusters(request: HttpRequest) -> HttpResponse:
    """List all clusters, disabled ones too; htmx gets the part that changes."""
    followed = follow_states(Cluster.objects.order_by("name"), now=database_now())
    context = {"lines": [cluster_line(one) for one in followed]}
    is_part = "HX-Request" in request.headers
    return render(request, "web/_clusters_body.html" if is_part else "web/clusters.html", context)


@require_safe
@vary_on_headers("HX-Request")
def cluster(request: HttpRequest, name: str) -> HttpResponse:
    """Show one cluster kind by kind, and what to do about it.

    Whoever looks at a cluster goes on to its devices and claims, so it is the chosen one then.
    """
    row = cluster_named(name)
    if row is None:
        raise Http404(f"No cluster is called {name}.")
    if row.enabled:
        settle_on(request, row, is_one_of_several=len(enabled_clusters()) > 1)
    [followed] = follow_states([row], now=database_now())
    sees_all = may_inspect(request.user, row, is_reachable=followed.is_reachable)
    context: dict[str, Any] = {"shown": cluster_page(followed, may_inspect=sees_all)}
    # A server that is known to be away is not waited for.
    if followed.is_reachable is not False:
        context |= _problems(request, row)
    is_part = "HX-Request" in request.headers
    return render(request, "web/_cluster_body.html" if is_part else "web/cluster.html", context)


def _problems(request: HttpRequest, row: Cluster) -> dict[str, Any]:
    """Name objects with problems; none where the API server cannot be asked for rights."""
    try:
        told = visible_problems(request.user, row)
    except RightsUnknownError:
        return {}
    count = told.count()
    return {
        "problems": problem_lines(told[:PROBLEMS_SHOWN]),
        "problem_count": count,
        "more_problems": max(0, count - PROBLEMS_SHOWN),
    }


routes = [
    path("clusters/", clusters, name="clusters"),
    path("clusters/<str:name>/", cluster, name="cluster"),
]
