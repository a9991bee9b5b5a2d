"""One attempt in full, and two of them side by side."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from dra_console.access import rules
from dra_console.access.redaction import redacted
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import Cluster
from dra_console.scheduling.attempts.between import changes_between
from dra_console.scheduling.attempts.comparison import compare, facts_of
from dra_console.scheduling.models import Attempt
from dra_console.web.attempt_listing import visible_attempts
from dra_console.web.cluster_page import on_cluster
from dra_console.web.presenters.attempts import attempt_line
from dra_console.web.presenters.comparison import change_lines, comparison_lines
from dra_console.web.presenters.explanation import explanation_of
from dra_console.web.presenters.reader import Reader, reader_of

OTHERS_OFFERED: Final = 20
CHANGES_SHOWN: Final = 50


@require_safe
@on_cluster
def attempt(request: HttpRequest, cluster: Cluster, number: int) -> HttpResponse:
    """Show one attempt as it was explained; with `against`, what differs from another one."""
    reader = reader_of(request.user, cluster)
    found = _attempt(cluster, reader, number)
    others = _others(found)
    context = {
        "attempt": found,
        "line": attempt_line(found),
        "explanation": explanation_of(
            found.explanation,
            reader=reader,
            selected=request.GET.get("device", ""),
            claims=[(found.namespace, name) for name in found.claim_names],
        ),
        "others": [attempt_line(each) for each in others],
    }
    against = request.GET.get("against", "")
    if against.isdecimal():
        other = _attempt(cluster, reader, int(against))
        if other.subject_uid != found.subject_uid:
            raise Http404("Attempts of different pods or claims are not compared.")
        context |= _compared(request, found, other, reader)
    return render(request, "web/attempt.html", context)


def _attempt(cluster: Cluster, reader: Reader, number: int) -> Attempt:
    found = visible_attempts(cluster, reader).select_related("kept").filter(pk=number).first()
    if found is None:
        raise Http404("There is no such attempt, or you may not see it.")
    return found


def _others(found: Attempt) -> list[Attempt]:
    alike = Attempt.objects.filter(cluster=found.cluster, subject_uid=found.subject_uid)
    return list(alike.exclude(pk=found.pk).order_by("-pk")[:OTHERS_OFFERED])


def _compared(
    request: HttpRequest, one: Attempt, other: Attempt, reader: Reader
) -> Mapping[str, Any]:
    older, newer = sorted((one, other), key=lambda each: each.pk)
    before, after = (
        facts_of(redacted(each.explanation, namespaces=reader.namespaces))
        for each in (older, newer)
    )
    comparison = compare(before, after)
    changes = changes_between(
        one.cluster,
        after=older.last_at,
        until=newer.last_at,
        own_uids=newer.claims.values_list("claim_uid", flat=True),
        namespaces=reader.namespaces,
        sees_inventory=rules.may(request.user, one.cluster, "list", RESOURCE_SLICES),
    )
    return {
        "against": other.pk,
        "older": attempt_line(older),
        "newer": attempt_line(newer),
        "comparison": comparison_lines(comparison),
        "changes": change_lines(changes[:CHANGES_SHOWN]),
        "more_changes": max(changes.count() - CHANGES_SHOWN, 0),
    }


routes = [path("scheduling/attempts/<int:number>/", attempt, name="attempt")]
