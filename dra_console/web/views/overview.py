"""The overview: what is free, what waits, what is idle and what needs care."""

from dataclasses import replace

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from redis import RedisError

from dra_console import events
from dra_console.access import rules
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.clock import database_now
from dra_console.mirror.inventory import DeviceState, device_states
from dra_console.mirror.models import ClaimState, Cluster, Node, ResourceClaim
from dra_console.mirror.tallies import PoolNumbers, pool_numbers
from dra_console.scheduling.coexistence.telling import kinds_and_severities
from dra_console.sync.following import troubled_kinds
from dra_console.telemetry import store
from dra_console.telemetry.readings import HeldAndUsed
from dra_console.web.claim_listing import newest_headlines, visible_claims
from dra_console.web.cluster_page import on_cluster
from dra_console.web.presenters.care import (
    Concern,
    claim_concerns,
    device_concerns,
    node_concerns,
    pool_concerns,
    summary_of,
)
from dra_console.web.presenters.clusters import following_concerns
from dra_console.web.presenters.conflicts import conflict_concerns
from dra_console.web.presenters.live_state import LiveState, read_live_state, used_of
from dra_console.web.presenters.overview import (
    chart_of,
    free_in_words,
    idle_of,
    model_lines,
)
from dra_console.web.presenters.reader import Reader, reader_of
from dra_console.web.presenters.sum_bar import sum_bar_of
from dra_console.web.presenters.waiting import PendingClaim, WaitingGroup, waiting_groups

CONCERNS_SHOWN = 6
GROUPS_SHOWN = 5


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def overview(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Show the cluster at a glance; htmx gets everything below the heading.

    Numbers are everybody's; names of devices and nodes are for those who may list slices.
    """
    reader = reader_of(request.user, cluster)
    live = read_live_state(cluster.pk, now=timezone.now())
    states = device_states(cluster)
    pools = pool_numbers(cluster, states=states)
    bar = sum_bar_of(
        states, reader=reader, is_lower_bound=any(pool.is_lower_bound for pool in pools)
    )
    lines = model_lines(states, reader=reader)
    concerns = [
        *following_concerns(
            troubled_kinds([cluster], now=database_now())[cluster.pk], cluster_name=cluster.name
        ),
        *claim_concerns(_unsettled_claims(cluster, reader), now=live.now),
    ]
    if rules.may(request.user, cluster, "list", RESOURCE_SLICES):
        concerns = _inventory_concerns(cluster, states, pools=pools, live=live) + concerns
    else:
        lines = tuple(replace(line, note="") for line in lines)
    conflicts = kinds_and_severities(cluster, namespaces=reader.namespaces, now=database_now())
    concerns = conflict_concerns(conflicts) + concerns
    waiting = _waiting(cluster, reader)
    context = {
        "cluster": cluster,
        "bar": bar,
        "lines": lines,
        "free_words": free_in_words(lines),
        "used": used_of(states, live=live),
        "idle": idle_of(states, live=live),
        "waiting": waiting[:GROUPS_SHOWN],
        "waiting_reasons": len(waiting),
        "waiting_claims": sum(len(group.claims) for group in waiting),
        "oldest": min((group.oldest.created_at for group in waiting), default=None),
        "concerns": concerns[:CONCERNS_SHOWN],
        "concern_count": len(concerns),
        "concern_summary": summary_of(concerns),
        "chart": chart_of(_held_and_used(cluster, live), total=bar.total, now=live.now),
        "has_devices": bool(states),
        "topics": f"{events.devices_topic(cluster.pk)} {events.claims_topic(cluster.pk)}",
    }
    template = (
        "web/_overview_update.html" if "HX-Request" in request.headers else "web/overview.html"
    )
    return render(request, template, context)


def _inventory_concerns(
    cluster: Cluster, states: list[DeviceState], *, pools: list[PoolNumbers], live: LiveState
) -> list[Concern]:
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster).defer("raw")}
    return [
        *device_concerns(states, now=live.now),
        *node_concerns(states, nodes=nodes, live=live),
        *pool_concerns(pools),
    ]


def _unsettled_claims(cluster: Cluster, reader: Reader) -> list[ResourceClaim]:
    unsettled = Q(state=ClaimState.ALLOCATED) | Q(deletion_requested_at__isnull=False)
    return list(visible_claims(cluster, reader).filter(unsettled).defer("raw"))


def _waiting(cluster: Cluster, reader: Reader) -> tuple[WaitingGroup, ...]:
    pending = [
        PendingClaim(*row)
        for row in visible_claims(cluster, reader)
        .filter(state=ClaimState.PENDING)
        .values_list("uid", "namespace", "name", "created_at")
    ]
    headlines = newest_headlines(cluster, [claim.uid for claim in pending])
    return waiting_groups(pending, headlines=headlines)


def _held_and_used(cluster: Cluster, live: LiveState) -> list[HeldAndUsed]:
    if not live.is_reachable:
        return []
    try:
        return store.held_and_used(cluster.pk)
    except RedisError:
        return []


routes = [path("", overview, name="overview")]
