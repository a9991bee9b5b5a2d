"""The list of nodes with devices, and the page of one."""

from collections.abc import Iterable

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.kube.kinds import NODES
from dra_console.mirror.inventory import device_states, device_states_of_pools, pools_of_node
from dra_console.mirror.models import Cluster, Node
from dra_console.mirror.tallies import pool_numbers
from dra_console.web.cluster_page import on_cluster, require_list
from dra_console.web.presenters.boards import agent_note, node_names_of, node_rows
from dra_console.web.presenters.live_state import read_live_state
from dra_console.web.presenters.nodes import (
    conditions_of,
    driver_versions,
    held_claims,
    node_lines,
    readiness_of,
    versions_of,
)
from dra_console.web.presenters.reader import reader_of
from dra_console.web.presenters.sum_bar import sum_bar_of

NODES_A_PAGE = 100


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def nodes(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """List nodes; htmx gets the table."""
    require_list(request, cluster, NODES)
    states = device_states(cluster)
    with_devices = [name for name in node_names_of(states) if name]
    page = Paginator(with_devices, NODES_A_PAGE).get_page(request.GET.get("page"))
    of_cluster = Node.objects.filter(cluster=cluster)
    lines = node_lines(
        of_cluster.filter(name__in=page.object_list),
        node_names=page.object_list,
        states=states,
        reader=reader_of(request.user, cluster),
        live=read_live_state(cluster.pk, now=timezone.now()),
        pools=pool_numbers(cluster, states=states),
    )
    context = {
        "lines": lines,
        "page": page,
        "nodes_without_devices": of_cluster.exclude(name__in=with_devices).count(),
        "devices_topic": events.devices_topic(cluster.pk),
        "telemetry_topics": _telemetry_topics(cluster, page.object_list),
    }
    template = "web/_nodes_body.html" if "HX-Request" in request.headers else "web/nodes.html"
    return render(request, template, context)


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def node(request: HttpRequest, cluster: Cluster, name: str) -> HttpResponse:
    """Show one node; htmx gets the parts that change."""
    require_list(request, cluster, NODES)
    row = Node.objects.filter(cluster=cluster, name=name).first()
    keys = pools_of_node(cluster, name)
    of_pools = device_states_of_pools(cluster, keys)
    states = [state for state in of_pools if state.node_name == name]
    if row is None and not states:
        raise Http404(f"cluster {cluster.name} has no node {name}")
    reader = reader_of(request.user, cluster)
    live = read_live_state(cluster.pk, now=timezone.now())
    numbers = pool_numbers(cluster, states=of_pools, pools=keys)
    pools = [one for one in numbers if one.node_name == name]
    context = {
        "name": name,
        "node": row,
        "readiness": readiness_of(row),
        "versions": None if row is None else versions_of(row),
        "conditions": () if row is None else conditions_of(row),
        "driver_versions": driver_versions(states),
        "agent": live.agents.get(name),
        "agent_note": agent_note(name, live=live),
        "rows": node_rows(
            states,
            node_names=[name] if states else (),
            shown=states,
            reader=reader,
            live=live,
            pools=pools,
        ),
        "bar": sum_bar_of(
            states, reader=reader, is_lower_bound=any(pool.is_lower_bound for pool in pools)
        ),
        "claims": held_claims(states, reader=reader, live=live),
        "pools": pools,
        "devices_topic": events.devices_topic(cluster.pk),
        "telemetry_topics": _telemetry_topics(cluster, [name]),
    }
    template = "web/_node_update.html" if "HX-Request" in request.headers else "web/node.html"
    return render(request, template, context)


def _telemetry_topics(cluster: Cluster, names: Iterable[str]) -> str:
    return " ".join(events.telemetry_topic(cluster.pk, name) for name in names)


routes = [
    path("nodes/", nodes, name="nodes"),
    path("nodes/<str:name>/", node, name="node"),
]
