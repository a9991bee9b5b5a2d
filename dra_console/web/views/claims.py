"""The list of claims, and its CSV."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.mirror.models import Cluster, DeviceClass, Namespace, ResourceClaim
from dra_console.web.claim_listing import rows_of, visible_claims
from dra_console.web.cluster_page import on_cluster
from dra_console.web.forms.claim_filter import ClaimFilterForm
from dra_console.web.presenters.claim_table import claim_csv, columns, ordering
from dra_console.web.presenters.reader import Reader, reader_of

CLAIMS_A_PAGE = 50


@dataclass(frozen=True, slots=True)
class _Claims:
    """What the filter leaves of what the reader may see."""

    queryset: QuerySet[ResourceClaim]
    form: ClaimFilterForm
    reader: Reader


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def claims(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """List claims; htmx gets the part that changes."""
    found = _read_claims(request, cluster)
    page = Paginator(found.queryset, CLAIMS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "form": found.form,
        "page": page,
        "rows": rows_of(cluster, list(page.object_list)),
        "columns": columns(request.GET.get("sort", "")),
        "claims_topic": events.claims_topic(cluster.pk),
        "sees_nothing": found.reader.namespaces == frozenset(),
    }
    template = "web/_claims_body.html" if "HX-Request" in request.headers else "web/claims.html"
    return render(request, template, context)


@require_safe
@on_cluster
def claims_csv(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Send the filtered claims as CSV, all pages of them."""
    found = _read_claims(request, cluster)
    if not found.form.is_valid():
        return HttpResponseBadRequest(found.form.errors.as_text(), content_type="text/plain")
    return HttpResponse(
        claim_csv(rows_of(cluster, list(found.queryset))),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="claims-{cluster.name}.csv"'},
    )


def _read_claims(request: HttpRequest, cluster: Cluster) -> _Claims:
    reader = reader_of(request.user, cluster)
    namespaces = Namespace.objects.filter(cluster=cluster).values_list("name", flat=True)
    form = ClaimFilterForm(
        request.GET,
        namespaces=[name for name in namespaces if reader.sees(name)],
        class_names=DeviceClass.objects.filter(cluster=cluster).values_list("name", flat=True),
    )
    queryset = form.narrow(visible_claims(cluster, reader))
    return _Claims(queryset.order_by(*ordering(request.GET.get("sort", ""))), form, reader)


routes = [
    path("claims/", claims, name="claims"),
    path("claims.csv", claims_csv, name="claims-csv"),
]
