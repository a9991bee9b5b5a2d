"""What waits, who is next, and what was tried: three views of one page."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.allocator.model import Json
from dra_console.mirror.models import Cluster, Namespace, ResourceClaim
from dra_console.scheduling.attempts.pending import NOT_TRIED, PendingGroup, pending_groups
from dra_console.scheduling.attempts.waiting_line import waiting_elsewhere
from dra_console.scheduling.models import Attempt, Outcome
from dra_console.scheduling.planning.queue_of import queue_of
from dra_console.web.attempt_listing import visible_attempts
from dra_console.web.cluster_page import on_cluster
from dra_console.web.forms.attempt_filter import AttemptFilterForm
from dra_console.web.presenters.attempts import attempt_lines, group_lines
from dra_console.web.presenters.queue import elsewhere_in_words, place_lines
from dra_console.web.presenters.reader import Reader, reader_of

A_PAGE: Final = 25
PENDING, QUEUE, LOG = "pending", "queue", "log"
VIEWS: Final[Mapping[str, str]] = {PENDING: "Waiting", QUEUE: "Queue", LOG: "Attempts"}


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def scheduling(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Show what waits, the queue or the log; htmx gets the part that changes."""
    reader = reader_of(request.user, cluster)
    view = request.GET.get("view", PENDING)
    view = view if view in VIEWS else PENDING
    form = _form(request, cluster, reader, view)
    topics = [events.attempts_topic(cluster.pk), events.claims_topic(cluster.pk)]
    context = {
        "view": view,
        "views": VIEWS,
        "form": form,
        "topics": " ".join(topics),
        "sees_nothing": reader.namespaces == frozenset(),
        **_SHOWN[view](request, cluster, reader, form),
    }
    is_part = "HX-Request" in request.headers
    return render(
        request, "web/_scheduling_body.html" if is_part else "web/scheduling.html", context
    )


def _form(request: HttpRequest, cluster: Cluster, reader: Reader, view: str) -> AttemptFilterForm:
    names = Namespace.objects.filter(cluster=cluster).values_list("name", flat=True)
    outcomes = {PENDING: (*Outcome.values, NOT_TRIED), QUEUE: (), LOG: Outcome.values}
    return AttemptFilterForm(
        request.GET,
        namespaces=[name for name in names if reader.sees(name)],
        outcomes=outcomes[view],
    )


def _pending(
    request: HttpRequest, cluster: Cluster, reader: Reader, form: AttemptFilterForm
) -> Mapping[str, Any]:
    namespaces = {form.namespace} if form.namespace else reader.namespaces
    groups = pending_groups(cluster, namespaces=namespaces, outcome=form.outcome)
    page = Paginator(groups, A_PAGE).get_page(request.GET.get("page"))
    return {
        "page": page,
        "lines": group_lines(page.object_list, specs=_specs(cluster, list(page.object_list))),
        "waiting": sum(len(group.members) for group in groups),
    }


def _specs(cluster: Cluster, groups: list[PendingGroup]) -> dict[str, Json]:
    """Read what the oldest of each group asks for."""
    uids = [group.oldest.uid for group in groups if not group.oldest.is_pod]
    claims = ResourceClaim.objects.filter(cluster=cluster, uid__in=uids)
    return dict(claims.values_list("uid", KeyTransform("spec", "raw")))


def _queue(
    request: HttpRequest, cluster: Cluster, reader: Reader, form: AttemptFilterForm
) -> Mapping[str, Any]:
    queue = queue_of(cluster)
    wanted = [
        one
        for one in queue
        if reader.sees(one.line.namespace) and form.namespace in {"", one.line.namespace}
    ]
    page = Paginator(wanted, A_PAGE).get_page(request.GET.get("page"))
    uids = [one.line.uid for one in page.object_list]
    attempts = Attempt.objects.filter(cluster=cluster, is_newest=True, subject_uid__in=uids)
    return {
        "page": page,
        "lines": place_lines(page.object_list, attempts=attempts),
        "waiting": len(queue),
        "elsewhere": elsewhere_in_words(waiting_elsewhere(cluster)),
    }


def _log(
    request: HttpRequest, cluster: Cluster, reader: Reader, form: AttemptFilterForm
) -> Mapping[str, Any]:
    attempts = visible_attempts(cluster, reader).order_by("-pk")
    if form.namespace:
        attempts = attempts.filter(namespace=form.namespace)
    if form.outcome:
        attempts = attempts.filter(outcome=form.outcome)
    page = Paginator(attempts, A_PAGE).get_page(request.GET.get("page"))
    return {"page": page, "lines": attempt_lines(page.object_list)}


_SHOWN: Final = {PENDING: _pending, QUEUE: _queue, LOG: _log}

routes = [path("scheduling/", scheduling, name="scheduling")]
