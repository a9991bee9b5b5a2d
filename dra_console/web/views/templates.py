"""Templates: the list, one template with the claims made from it, and a pod to try it."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.access import rules
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES
from dra_console.mirror.models import Cluster, ResourceClaimTemplate
from dra_console.provisioning import snippet, submit
from dra_console.provisioning.template_parts import as_submitted
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.sync.reading import object_in
from dra_console.web.claim_listing import rows_of, visible_claims
from dra_console.web.cluster_page import on_cluster, person_of
from dra_console.web.object_oddities import oddities_of_row
from dra_console.web.presenters.reader import reader_of
from dra_console.web.presenters.template_table import template_rows
from dra_console.web.presenters.wants import wants_of
from dra_console.web.presenters.whatif_edits import address_of
from dra_console.web.yaml_text import as_yaml

TEMPLATES_A_PAGE = 50
CLAIMS_SHOWN = 50
AWAITED = "awaited"
"""In the address of a part: nothing of the template is on the page yet."""


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def templates(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """List templates; htmx gets the part that changes."""
    selected = _visible_templates(request, cluster)
    page = Paginator(selected, TEMPLATES_A_PAGE).get_page(request.GET.get("page"))
    claims = visible_claims(cluster, reader_of(request.user, cluster))
    context = {
        "page": page,
        "rows": template_rows(page.object_list, claims=claims),
        "claims_topic": events.claims_topic(cluster.pk),
    }
    is_part = "HX-Request" in request.headers
    return render(request, "web/_templates_body.html" if is_part else "web/templates.html", context)


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def template(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Show one template, its claims and its use; one that the mirror has not seen is waited for."""
    is_part = "HX-Request" in request.headers
    found = _visible_templates(request, cluster).filter(namespace=namespace, name=name).first()
    if found is None:
        return _awaited(request, cluster, namespace, name)
    if is_part and AWAITED in request.GET:
        return HttpResponse(headers={"HX-Redirect": request.path})
    claims = list(
        visible_claims(cluster, reader_of(request.user, cluster))
        .filter(namespace=namespace, template_name=name)
        .order_by("-created_at")[:CLAIMS_SHOWN]
    )
    context = {
        "template": found,
        "wants": wants_of(object_in(found.raw, "spec").get("spec")),
        "rows": rows_of(cluster, claims),
        "columns": {},
        "oddities": oddities_of_row(found, plural=RESOURCE_CLAIM_TEMPLATES.plural),
        "yaml": as_yaml(found.raw),
        "kubectl_command": snippet.kubectl_command(namespace, name),
        "curl_command": snippet.curl_command(
            as_submitted(found.raw),
            console_url=request.build_absolute_uri("/"),
            cluster_name=cluster.name,
        ),
        "what_if": address_of(Scenario(pod=PodShape((ClaimSource(template=(namespace, name)),)))),
        "claims_topic": events.claims_topic(cluster.pk),
    }
    return render(request, "web/_template_body.html" if is_part else "web/template.html", context)


def _awaited(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Show that the mirror has not seen a template; whoever has just made it comes here."""
    rights = {"namespace": namespace, "name": name}
    if not rules.may(request.user, cluster, "get", RESOURCE_CLAIM_TEMPLATES, **rights):
        raise Http404(f"There is no template {namespace}/{name}, or you may not see it.")
    context = {
        **rights,
        "address": f"{request.path}?{AWAITED}",
        "claims_topic": events.claims_topic(cluster.pk),
    }
    is_part = "HX-Request" in request.headers
    page = "web/_template_awaited_body.html" if is_part else "web/template_awaited.html"
    return render(request, page, context)


@require_POST
@on_cluster
def start_test_pod(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str
) -> HttpResponse:
    """Start a pod that does nothing but hold what the template asks for."""
    _visible_template(request, cluster, namespace, name)
    outcome = submit.start_test_pod(person_of(request), cluster, namespace, name)
    if isinstance(outcome, submit.Refused):
        messages.error(request, f"The pod was not started: {outcome.message}")
        return redirect("web:template", namespace, name)
    return redirect("web:pod", namespace, outcome.name)


@require_POST
@on_cluster
def delete_template(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str
) -> HttpResponse:
    """Delete a template; claims made from it stay."""
    _visible_template(request, cluster, namespace, name)
    outcome = submit.delete_template(person_of(request), cluster, namespace, name)
    if isinstance(outcome, submit.Refused):
        messages.error(request, f"The template was not deleted: {outcome.message}")
        return redirect("web:template", namespace, name)
    messages.success(request, f"Template {name} is deleted. Claims made from it stay.")
    return redirect("web:templates")


def _visible_templates(request: HttpRequest, cluster: Cluster) -> QuerySet[ResourceClaimTemplate]:
    namespaces = rules.visible_namespaces(request.user, cluster, RESOURCE_CLAIM_TEMPLATES)
    selected = ResourceClaimTemplate.objects.filter(cluster=cluster)
    return selected if namespaces is None else selected.filter(namespace__in=namespaces)


def _visible_template(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str
) -> ResourceClaimTemplate:
    found = _visible_templates(request, cluster).filter(namespace=namespace, name=name).first()
    if found is None:
        raise Http404(f"There is no template {namespace}/{name}, or you may not see it.")
    return found


routes = [
    path("templates/", templates, name="templates"),
    path("templates/<str:namespace>/<str:name>/", template, name="template"),
    path("templates/<str:namespace>/<str:name>/test-pod/", start_test_pod, name="test-pod"),
    path("templates/<str:namespace>/<str:name>/delete/", delete_template, name="template-delete"),
]
