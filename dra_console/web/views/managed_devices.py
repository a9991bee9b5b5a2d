"""Managed devices: rules that keep them for the console, and whom each concerns."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from dra_console.access import rules
from dra_console.kube.kinds import DEVICE_TAINT_RULES, RESOURCE_SLICES
from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.managed_devices import (
    NOT_SERVED,
    DeviceSelector,
    NotDone,
    concerned_by,
    is_served,
    managed_rules,
    mark,
    unmark,
)
from dra_console.web.cluster_page import on_cluster, person_of, require_list
from dra_console.web.forms.device_selector import DeviceSelectorForm
from dra_console.web.presenters.managed_devices import concerned_of, rule_lines
from dra_console.web.presenters.reader import reader_of


@require_safe
@on_cluster
def managed_devices(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """List the rules; with a selector in the query, show whom a new one would concern."""
    for kind in (DEVICE_TAINT_RULES, RESOURCE_SLICES):
        require_list(request, cluster, kind)
    reader = reader_of(request.user, cluster)
    may_write = {
        verb: rules.may(request.user, cluster, verb, DEVICE_TAINT_RULES)
        for verb in ("create", "delete")
    }
    context: dict[str, Any] = {
        "lines": rule_lines(managed_rules(cluster), reader=reader),
        "not_served": NOT_SERVED if is_served(cluster) is False else "",
        "may_create": may_write["create"],
        "may_delete": may_write["delete"],
    }
    form = DeviceSelectorForm(request.GET or None, cluster=cluster)
    if form.is_valid():
        selector = form.selector()
        concerned = concerned_by(cluster, selector)
        context |= {
            "selector": selector,
            "concerned": concerned_of(concerned, reader=reader),
            "digest": concerned.digest,
        }
    return render(request, "web/managed_devices.html", context | {"form": form})


@require_POST
@on_cluster
def mark_devices(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Write the rule, if it still concerns whom the person was shown."""
    selector = DeviceSelector(
        *(request.POST.get(name, "").strip() for name in ("driver", "pool", "device"))
    )
    outcome = mark(
        person_of(request), cluster, selector, seen_digest=request.POST.get("digest", "")
    )
    if isinstance(outcome, NotDone):
        messages.error(request, f"Nothing was marked. {outcome.message}")
    else:
        messages.success(request, f"Rule {outcome.name} marks {selector}.")
    return redirect("web:managed-devices")


@require_POST
@on_cluster
def unmark_devices(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    """Remove a rule, so that every scheduler gives its devices away again."""
    outcome = unmark(
        person_of(request),
        cluster,
        name,
        resource_version=request.POST.get("resource_version", ""),
    )
    if isinstance(outcome, NotDone):
        messages.error(request, f"The rule stays. {outcome.message}")
    else:
        messages.success(request, f"Rule {name} is removed.")
    return redirect("web:managed-devices")


routes = [
    path("conflicts/managed/", managed_devices, name="managed-devices"),
    path("conflicts/managed/mark/", mark_devices, name="mark-devices"),
    path("conflicts/managed/<str:name>/unmark/", unmark_devices, name="unmark-devices"),
]
