"""The page of one device."""

from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from redis import RedisError

from dra_console import events
from dra_console.access import rules
from dra_console.kube.kinds import PODS, RESOURCE_SLICES
from dra_console.mirror.inventory import device_states_of_pool
from dra_console.mirror.models import Cluster, Device, DeviceAssignment, Pool
from dra_console.mirror.pod_names import pod_names
from dra_console.telemetry import store
from dra_console.telemetry.readings import DeviceKey
from dra_console.web.cluster_page import on_cluster, require_list
from dra_console.web.object_oddities import oddities_of_device
from dra_console.web.presenters.device_details import details_panel
from dra_console.web.presenters.device_page import device_page, utilisation_line
from dra_console.web.presenters.live_state import LiveState, read_live_state
from dra_console.web.presenters.reader import reader_of

PAST_CLAIMS = 50


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def device(
    request: HttpRequest, cluster: Cluster, driver: str, pool: str, name: str
) -> HttpResponse:
    """Show one device; htmx gets the parts that change."""
    require_list(request, cluster, RESOURCE_SLICES)
    states = device_states_of_pool(cluster, driver=driver, pool=pool)
    state = next((one for one in states if one.device.name == name), None)
    if state is None:
        raise Http404(f"{driver}/{pool} publishes no device {name}")
    key = DeviceKey(driver, pool, name)
    live = read_live_state(cluster.pk, now=timezone.now())
    past = DeviceAssignment.objects.filter(
        cluster=cluster, driver=driver, pool=pool, device=name, released_at__isnull=False
    )
    context = {
        "device": device_page(
            state,
            siblings=states,
            past=past[:PAST_CLAIMS],
            reader=reader_of(request.user, cluster),
            live=live,
        ),
        "line": utilisation_line(_history(cluster, key, live=live), now=live.now),
        "slice": state.device.slice,
        "oddities": oddities_of_device(state.device, plural=RESOURCE_SLICES.plural),
        "pool": Pool.objects.filter(cluster=cluster, driver=driver, name=pool).first(),
        "devices_topic": events.devices_topic(cluster.pk),
        "telemetry_topics": events.telemetry_topic(cluster.pk, state.node_name),
        **_details_of(request, cluster, state.device, now=live.now),
    }
    template = "web/_device_update.html" if "HX-Request" in request.headers else "web/device.html"
    return render(request, template, context)


@require_safe
@on_cluster
def details(
    request: HttpRequest, cluster: Cluster, driver: str, pool: str, name: str
) -> HttpResponse:
    """Show what changes on a device's page without anything being published."""
    require_list(request, cluster, RESOURCE_SLICES)
    found = get_object_or_404(Device, cluster=cluster, driver=driver, pool=pool, name=name)
    context = _details_of(request, cluster, found, now=timezone.now())
    return render(request, "web/_device_details.html", context)


def _details_of(
    request: HttpRequest, cluster: Cluster, found: Device, *, now: datetime
) -> dict[str, object]:
    key = DeviceKey(found.driver, found.pool, found.name)
    context: dict[str, object] = {"details_address": reverse("web:device-details", args=key)}
    try:
        reported = store.details(cluster.pk, found.node_name, key)
    except RedisError:
        return context
    if reported is not None:
        uids = {one.pod_uid for one in reported.details.processes or () if one.pod_uid}
        context["details"] = details_panel(
            reported,
            is_partition=bool(found.parent),
            pods=pod_names(cluster, found.node_name, uids),
            visible=rules.visible_namespaces(request.user, cluster, PODS) if uids else None,
            now=now,
        )
    return context


def _history(
    cluster: Cluster, key: DeviceKey, *, live: LiveState
) -> list[tuple[datetime, int | None]]:
    if not live.is_reachable:
        return []
    try:
        return store.history(cluster.pk, key)
    except RedisError:
        return []


routes = [
    path("devices/<str:driver>/<path:pool>/<str:name>/", device, name="device"),
    path("device-details/<str:driver>/<path:pool>/<str:name>/", details, name="device-details"),
]
