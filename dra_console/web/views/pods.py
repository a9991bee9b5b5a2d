"""A pod with claims: how far it is, and on to its claim."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.access import rules
from dra_console.kube.kinds import PODS
from dra_console.mirror.models import Cluster, Pod
from dra_console.provisioning import submit
from dra_console.web.claim_listing import rows_of, visible_claims
from dra_console.web.cluster_page import on_cluster, person_of
from dra_console.web.presenters.claim_life import PHASE_TONES, phase_of
from dra_console.web.presenters.reader import reader_of
from dra_console.web.yaml_text import as_yaml


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def pod(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Show a pod and its claims; a pod that the mirror has not seen yet is waited for."""
    if not rules.may(request.user, cluster, "get", PODS, namespace=namespace, name=name):
        raise Http404(f"There is no pod {namespace}/{name}, or you may not see it.")
    found = Pod.objects.filter(cluster=cluster, namespace=namespace, name=name).first()
    claims = visible_claims(cluster, reader_of(request.user, cluster)).filter(
        namespace=namespace, name__in=found.claim_names.values() if found else ()
    )
    phase = phase_of(found) if found else ""
    context: dict[str, Any] = {
        "namespace": namespace,
        "name": name,
        "pod": found,
        "phase": phase,
        "tone": PHASE_TONES.get(phase, "plain"),
        "rows": rows_of(cluster, list(claims)),
        "columns": {},
        "yaml": as_yaml(found.raw) if found else "",
        "claims_topic": events.claims_topic(cluster.pk),
    }
    is_part = "HX-Request" in request.headers
    return render(request, "web/_pod_body.html" if is_part else "web/pod.html", context)


@require_POST
@on_cluster
def delete_pod(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Ask the API server to delete a pod; its devices are free when it has ended."""
    outcome = submit.delete_pod(person_of(request), cluster, namespace, name)
    if isinstance(outcome, submit.Refused):
        messages.error(request, f"The pod was not deleted: {outcome.message}")
    else:
        messages.success(request, f"Deletion of pod {name} is requested.")
    return redirect("web:claims")


routes = [
    path("pods/<str:namespace>/<str:name>/", pod, name="pod"),
    path("pods/<str:namespace>/<str:name>/delete/", delete_pod, name="pod-delete"),
]
