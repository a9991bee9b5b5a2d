"""What conflicts where several parties allocate, and taking back what nobody uses."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console.access import rules
from dra_console.kube.kinds import DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster, DeviceAssignment, Pod
from dra_console.scheduling.coexistence.cleaner import cleaner_of
from dra_console.scheduling.coexistence.findings import FindingKind
from dra_console.scheduling.coexistence.release import NotReleased, release
from dra_console.scheduling.coexistence.telling import told_conflicts
from dra_console.scheduling.models import Conflict, ConflictCheck
from dra_console.web.claim_listing import visible_claims
from dra_console.web.cluster_page import on_cluster, person_of
from dra_console.web.presenters.claim_life import consumers_of
from dra_console.web.presenters.conflicts import conflict_groups
from dra_console.web.presenters.reader import Reader, reader_of

UNCLEANED = frozenset({FindingKind.STALE_RESERVATION, FindingKind.STUCK_DELETION})
"""Kinds that stand where no controller cleans up."""


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def conflicts(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """List what conflicts, by kind; htmx gets the part that changes."""
    reader = reader_of(request.user, cluster)
    now = database_now()
    found = told_conflicts(cluster, namespaces=reader.namespaces, now=now)
    is_uncleaned = any(one.kind in UNCLEANED for one in found)
    context = {
        "groups": conflict_groups(
            found,
            namespaces=reader.namespaces,
            writable=_writable(request, cluster, found, reader=reader),
        ),
        "check": ConflictCheck.objects.filter(cluster=cluster).first(),
        "cleaner": cleaner_of(cluster, now=now) if is_uncleaned else None,
        "sees_nothing": reader.namespaces == frozenset(),
        "may_list_rules": all(
            rules.may(request.user, cluster, "list", kind)
            for kind in (DEVICE_TAINT_RULES, RESOURCE_SLICES)
        ),
    }
    is_part = "HX-Request" in request.headers
    return render(request, "web/_conflicts_body.html" if is_part else "web/conflicts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@on_cluster
def release_claim(
    request: HttpRequest, cluster: Cluster, namespace: str, name: str
) -> HttpResponse:
    """Show what would be taken back and from whom; take it back when it is confirmed."""
    reader = reader_of(request.user, cluster)
    claim = visible_claims(cluster, reader).filter(namespace=namespace, name=name).first()
    if claim is None:
        raise Http404(f"There is no claim {namespace}/{name}, or you may not see it.")
    if request.method == "POST":
        outcome = release(
            person_of(request),
            cluster,
            namespace,
            name,
            resource_version=request.POST.get("resource_version", ""),
        )
        if not isinstance(outcome, NotReleased):
            messages.success(request, f"Claim {namespace}/{name} is released.")
            return redirect("web:conflicts")
        messages.error(request, f"Nothing was released. {outcome.message}")
        return redirect("web:claim-release", namespace, name)
    pods = [
        pod
        for pod in Pod.objects.filter(cluster=cluster, namespace=namespace).defer("raw")
        if name in pod.claim_names.values()
    ]
    held = DeviceAssignment.objects.filter(
        cluster=cluster, claim_uid=claim.uid, released_at=None
    ).order_by("pk")
    context = {
        "claim": claim,
        "held": held,
        "consumers": consumers_of(claim, pods=pods),
        "cleaner": cleaner_of(cluster, now=database_now()),
    }
    return render(request, "web/claim_release.html", context)


def _writable(
    request: HttpRequest, cluster: Cluster, found: list[Conflict], *, reader: Reader
) -> frozenset[str]:
    """Name the namespaces of findings in which the person may take devices back."""
    names = {name for one in found for name in one.namespaces if reader.sees(name)}
    return frozenset(name for name in names if _may_release(request, cluster, name))


def _may_release(request: HttpRequest, cluster: Cluster, namespace: str) -> bool:
    return all(
        rules.may(
            request.user,
            cluster,
            "update",
            RESOURCE_CLAIMS,
            namespace=namespace,
            subresource=subresource,
        )
        for subresource in ("", "status")
    )


routes = [
    path("conflicts/", conflicts, name="conflicts"),
    path("claims/<str:namespace>/<str:name>/release/", release_claim, name="claim-release"),
]
