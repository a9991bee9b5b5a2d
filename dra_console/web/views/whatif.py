"""What if: build a scenario by forms, all in the address, and see its answer."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from dra_console.allocator.errors import DecodeError
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import (
    ClaimState,
    Cluster,
    DeviceClass,
    Node,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from dra_console.scheduling.whatif.answering import answer_now
from dra_console.scheduling.whatif.decoding import decode_scenario
from dra_console.scheduling.whatif.edits import AddNodes, DrainNode
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.report import pinned
from dra_console.scheduling.whatif.rights import Rights, rights_of
from dra_console.scheduling.whatif.scenario import Scenario, json_of_token
from dra_console.web.cluster_page import on_cluster, require_list
from dra_console.web.forms.whatif_form import pod_value, with_form
from dra_console.web.presenters.whatif import shown_answer
from dra_console.web.presenters.whatif_edits import address_of, shown_edits

OFFERED = 100
"""Names that a field offers; others can be typed."""


@require_safe
@on_cluster
def what_if(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Show a scenario and its answer; a form's fields lead to the scenario with its edit."""
    require_list(request, cluster, RESOURCE_SLICES)
    rights = rights_of(request.user, cluster)
    scenario, problem = Scenario(), ""
    try:
        if token := request.GET.get("scenario"):
            scenario = decode_scenario(json_of_token(token))
        if "act" in request.GET:
            return redirect(address_of(with_form(scenario, request.GET)))
    except DecodeError as error:
        problem = str(error)
    context = {
        "scenario": scenario,
        "token": request.GET.get("scenario", ""),
        "edits": shown_edits(scenario),
        "problem": problem,
        "fields": _fields(cluster, rights),
        "sent": request.GET,
        "pod_now": _pod_now(scenario),
        "examples": (),
        **_answered(cluster, scenario, rights=rights, problem=problem),
    }
    if "answer" not in context and not scenario.edits:
        context["examples"] = tuple(_examples(cluster, rights))
    return render(request, "web/whatif.html", context)


def _answered(
    cluster: Cluster, scenario: Scenario, *, rights: Rights, problem: str
) -> dict[str, Any]:
    if not scenario.edits and scenario.pod is None:
        return {}
    try:
        found = answer_now(cluster, scenario, rights=rights)
    except DecodeError as error:
        return {"problem": problem or str(error)}
    state = found.chosen.state
    return {
        "answer": shown_answer(found, rights=rights),
        "chosen": found.chosen,
        "read_at": state.read_at,
        "state_id": state.id,
        "pinned": address_of(pinned(found)),
        "again": address_of(Scenario(scenario.edits, scenario.pod)),
    }


def _pod_now(scenario: Scenario) -> str:
    """Choose what is asked about in the form, if that offers it."""
    claims = scenario.pod.claims if scenario.pod else ()
    if len(claims) != 1 or claims[0].patch:
        return ""
    if claims[0].template:
        return pod_value("template", *claims[0].template)
    return pod_value("claim", *claims[0].claim) if claims[0].claim else ""


def _fields(cluster: Cluster, rights: Rights) -> dict[str, list[Any]]:
    """Offer names of what is there; of claims and templates, those that the reader may see."""
    templates = ResourceClaimTemplate.objects.filter(cluster=cluster)
    claims = ResourceClaim.objects.filter(cluster=cluster)
    if rights.templates is not None:
        templates = templates.filter(namespace__in=rights.templates)
    if rights.claims is not None:
        claims = claims.filter(namespace__in=rights.claims)
    names = ("namespace", "name")
    pending = claims.filter(state=ClaimState.PENDING).values_list(*names)[:OFFERED]
    held = claims.exclude(allocation=None).values_list(*names)[:OFFERED]
    pods = [("template", *key) for key in templates.values_list(*names)[:OFFERED]]
    pods += [("claim", *key) for key in pending]
    return {
        "pods": [(pod_value(*pod), f"{pod[0].capitalize()} {'/'.join(pod[1:])}") for pod in pods],
        "held": ["/".join(key) for key in held],
        "nodes": list(
            Node.objects.filter(cluster=cluster).values_list("name", flat=True)[:OFFERED]
        ),
        "classes": list(
            DeviceClass.objects.filter(cluster=cluster).values_list("name", flat=True)[:OFFERED]
        ),
        "drivers": list(
            ResourceSlice.objects.filter(cluster=cluster)
            .order_by("driver")
            .values_list("driver", flat=True)
            .distinct()[:OFFERED]
        ),
    }


def _examples(cluster: Cluster, rights: Rights) -> Iterator[tuple[str, str]]:
    """Ask three questions about what this cluster has."""
    templates = ResourceClaimTemplate.objects.filter(cluster=cluster)
    claims = ResourceClaim.objects.filter(cluster=cluster)
    if rights.templates is not None:
        templates = templates.filter(namespace__in=rights.templates)
    if rights.claims is not None:
        claims = claims.filter(namespace__in=rights.claims)
    template = templates.order_by("-created_at").first()
    waiting = claims.filter(state=ClaimState.PENDING).order_by("created_at").first()
    with_slice = ResourceSlice.objects.filter(cluster=cluster).exclude(node_name="")
    node = with_slice.order_by("node_name").values_list("node_name", flat=True).first()
    busy = claims.exclude(node_name="").values_list("node_name", flat=True).first() or node
    if template is not None:
        pod = PodShape((ClaimSource(template=(template.namespace, template.name)),))
        yield f"How often does template {template.name} fit now?", address_of(Scenario(pod=pod))
    if node is not None and (waiting is not None or template is not None):
        source = (
            ClaimSource(claim=(waiting.namespace, waiting.name))
            if waiting is not None
            else ClaimSource(template=(template.namespace, template.name))
            if template is not None
            else ClaimSource()
        )
        name = waiting.name if waiting is not None else template.name if template else ""
        scenario = Scenario((AddNodes(node, 1),), PodShape((source,)))
        yield f"Would {name} fit with one more node like {node}?", address_of(scenario)
    if busy is not None:
        yield f"Who is hit if {busy} is drained?", address_of(Scenario((DrainNode(busy),)))


routes = [path("whatif/", what_if, name="what-if")]
