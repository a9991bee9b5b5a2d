"""Search over everything that has a page: claims, templates, devices, nodes, namespaces."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from dra_console.access import rules
from dra_console.kube.kinds import NODES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, Device, Namespace, Node, ResourceClaimTemplate
from dra_console.web.claim_listing import visible_claims
from dra_console.web.cluster_page import on_cluster
from dra_console.web.presenters.reader import Reader, reader_of
from dra_console.web.presenters.tiles import model_of

HITS_A_KIND = 20
LONGEST_TEXT = 253
"""No Kubernetes name is longer."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found."""

    name: str
    address: str
    note: str


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found of one kind, the first few."""

    label: str
    hits: tuple[Hit, ...]
    is_cut: bool
    """True: there are more than are shown."""


@require_safe
@on_cluster
def search(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Find names that contain the text `q`, among what the person may see."""
    text = request.GET.get("q", "").strip()[:LONGEST_TEXT]
    found = [kind for kind in _found(request, cluster, text) if kind.hits] if text else []
    return render(request, "web/search.html", {"search_text": text, "found": found})


def _found(request: HttpRequest, cluster: Cluster, text: str) -> list[Hits]:
    reader = reader_of(request.user, cluster)
    kinds = [_claims(reader, cluster, text), _templates(request, cluster, text)]
    kinds.append(_namespaces(reader, cluster, text))
    if rules.may(request.user, cluster, "list", RESOURCE_SLICES):
        kinds.append(_devices(cluster, text))
    if rules.may(request.user, cluster, "list", NODES):
        kinds.append(_nodes(cluster, text))
    return kinds


def _first(label: str, hits: list[Hit]) -> Hits:
    return Hits(label, tuple(hits[:HITS_A_KIND]), is_cut=len(hits) > HITS_A_KIND)


def _claims(reader: Reader, cluster: Cluster, text: str) -> Hits:
    matching = visible_claims(cluster, reader).filter(
        Q(name__icontains=text) | Q(namespace__icontains=text) | Q(uid=text)
    )
    return _first(
        "Claims",
        [
            Hit(
                name=f"{claim.namespace}/{claim.name}",
                address=reverse("web:claim", args=[claim.namespace, claim.name]),
                note=claim.get_state_display(),
            )
            for claim in matching.defer("raw")[: HITS_A_KIND + 1]
        ],
    )


def _templates(request: HttpRequest, cluster: Cluster, text: str) -> Hits:
    namespaces = rules.visible_namespaces(request.user, cluster, RESOURCE_CLAIM_TEMPLATES)
    matching = ResourceClaimTemplate.objects.filter(cluster=cluster).filter(
        Q(name__icontains=text) | Q(namespace__icontains=text)
    )
    if namespaces is not None:
        matching = matching.filter(namespace__in=namespaces)
    return _first(
        "Templates",
        [
            Hit(
                name=f"{template.namespace}/{template.name}",
                address=reverse("web:template", args=[template.namespace, template.name]),
                note="",
            )
            for template in matching.defer("raw")[: HITS_A_KIND + 1]
        ],
    )


def _devices(cluster: Cluster, text: str) -> Hits:
    matching = Device.objects.filter(cluster=cluster).filter(
        Q(name__icontains=text)
        | Q(node_name__icontains=text)
        | Q(pool__icontains=text)
        | Q(product_name__icontains=text)
        | Q(attributes__uuid__string=text)
    )
    return _first(
        "Devices",
        [
            Hit(
                name=f"{device.pool}/{device.name}",
                address=reverse("web:device", args=[device.driver, device.pool, device.name]),
                note=model_of(device),
            )
            for device in matching[: HITS_A_KIND + 1]
        ],
    )


def _nodes(cluster: Cluster, text: str) -> Hits:
    matching = Node.objects.filter(cluster=cluster, name__icontains=text).defer("raw")
    return _first(
        "Nodes",
        [
            Hit(name=node.name, address=reverse("web:node", args=[node.name]), note="")
            for node in matching[: HITS_A_KIND + 1]
        ],
    )


def _namespaces(reader: Reader, cluster: Cluster, text: str) -> Hits:
    matching = Namespace.objects.filter(cluster=cluster, name__icontains=text)
    if reader.namespaces is not None:
        matching = matching.filter(name__in=reader.namespaces)
    return _first(
        "Namespaces",
        [
            Hit(
                name=namespace.name,
                address=f"{reverse('web:claims')}?{urlencode({'namespace': namespace.name})}",
                note="its claims",
            )
            for namespace in matching.defer("raw")[: HITS_A_KIND + 1]
        ],
    )


routes = [path("search/", search, name="search")]
