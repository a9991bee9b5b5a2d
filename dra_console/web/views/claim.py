"""One claim: why it waits, or what it holds; its life, pods and YAML."""

from typing import Any

import redis
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.inventory import device_states_of_pools
from dra_console.mirror.models import (
    ClaimState,
    Cluster,
    DeviceAssignment,
    ObjectChange,
    ResourceClaim,
)
from dra_console.provisioning import submit
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning.claim_scheduling import pods_naming, scheduling_of
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.suggested import pod_of_claims
from dra_console.telemetry import store
from dra_console.telemetry.readings import PreparedDevice
from dra_console.web.claim_listing import visible_claims
from dra_console.web.cluster_page import on_cluster, person_of
from dra_console.web.object_oddities import oddities_of_row
from dra_console.web.presenters.attempts import question_about
from dra_console.web.presenters.claim_life import (
    consumers_of,
    silence_of_agent,
    stages_of,
    timeline_of,
)
from dra_console.web.presenters.claim_table import sign_of
from dra_console.web.presenters.explanation import explanation_of
from dra_console.web.presenters.live_state import LiveState, read_live_state
from dra_console.web.presenters.reader import Reader, reader_of
from dra_console.web.presenters.tiles import Tile, tile_of
from dra_console.web.presenters.wants import wants_of
from dra_console.web.presenters.whatif_edits import address_of
from dra_console.web.yaml_text import as_yaml

ATTEMPTS_SHOWN = 20
CHANGES_SHOWN = 50


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def claim(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Show one claim; htmx gets the part that changes."""
    reader = reader_of(request.user, cluster)
    found = visible_claims(cluster, reader).filter(namespace=namespace, name=name).first()
    if found is None:
        raise Http404(f"There is no claim {namespace}/{name}, or you may not see it.")
    context = _context(found, request, reader=reader)
    is_part = "HX-Request" in request.headers
    return render(request, "web/_claim_body.html" if is_part else "web/claim.html", context)


@require_POST
@on_cluster
def delete_claim(request: HttpRequest, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """Ask the API server to delete a claim; it goes when its last pod does."""
    outcome = submit.delete_claim(person_of(request), cluster, namespace, name)
    if isinstance(outcome, submit.Refused):
        messages.error(request, f"The claim was not deleted: {outcome.message}")
    else:
        messages.success(request, f"Deletion of claim {name} is requested.")
    return redirect("web:claim", namespace, name)


def _context(found: ResourceClaim, request: HttpRequest, *, reader: Reader) -> dict[str, Any]:
    cluster = found.cluster
    selected = request.GET.get("device", "")
    prepared = _prepared(found)
    pods = pods_naming(found)
    is_pending = found.state == ClaimState.PENDING
    attempts = list(Attempt.objects.of(cluster, found.uid)[:ATTEMPTS_SHOWN])
    changes = ObjectChange.objects.filter(cluster=cluster, uid=found.uid).order_by(
        "-seen_at", "-pk"
    )
    newest = attempts[0] if attempts else None
    shown = (
        explanation_of(
            newest.explanation,
            reader=reader,
            selected=selected,
            claims=[(newest.namespace, name) for name in newest.claim_names],
        )
        if newest is not None
        else None
    )
    held = _held(found)
    live = read_live_state(cluster.pk, now=timezone.now())
    topics = [events.claim_topic(cluster.pk, found.uid)]
    if found.node_name:
        topics.append(events.telemetry_topic(cluster.pk, found.node_name))
    return {
        "claim": found,
        "is_pending": is_pending,
        "sign": sign_of(found),
        "wants": wants_of(found.raw.get("spec")),
        "newest": newest,
        "question": question_about(found.namespace, found.name),
        "explanation": shown,
        "what_if": address_of(Scenario(pod=pod_of_claims([(found.namespace, found.name)]))),
        "attempts": attempts,
        "scheduling": scheduling_of(found, pods=pods, newest=newest, account=request.user)
        if is_pending
        else None,
        "tiles": _tiles(found, held=held, reader=reader, live=live),
        "silence": silence_of_agent(found, drivers={driver for driver, _, _ in held}, live=live),
        "prepared": prepared,
        "stages": stages_of(found, prepared=prepared, pods=pods),
        "consumers": consumers_of(found, pods=pods),
        "timeline": timeline_of(
            found, changes=changes[:CHANGES_SHOWN], prepared=prepared or (), attempts=attempts
        ),
        "oddities": oddities_of_row(found, plural=RESOURCE_CLAIMS.plural),
        "yaml": as_yaml(found.raw),
        "topics": " ".join(topics),
        "claim_topic": topics[0],
    }


def _prepared(found: ResourceClaim) -> tuple[PreparedDevice, ...] | None:
    """Say what nodes made ready for the claim; None where the store does not answer."""
    try:
        return store.prepared(found.cluster_id, found.uid)
    except redis.RedisError:
        return None


def _held(found: ResourceClaim) -> set[tuple[str, str, str]]:
    return set(
        DeviceAssignment.objects.filter(
            cluster=found.cluster, claim_uid=found.uid, released_at=None
        ).values_list("driver", "pool", "device")
    )


def _tiles(
    found: ResourceClaim, *, held: set[tuple[str, str, str]], reader: Reader, live: LiveState
) -> list[Tile]:
    if not held:
        return []
    pools = {(driver, pool) for driver, pool, _ in held}
    states = device_states_of_pools(found.cluster, pools)
    return [tile_of(state, reader=reader, live=live) for state in states if state.key in held]


routes = [
    path("claims/<str:namespace>/<str:name>/", claim, name="claim"),
    path("claims/<str:namespace>/<str:name>/delete/", delete_claim, name="claim-delete"),
]
