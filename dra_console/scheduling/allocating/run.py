"""One scheduling run over a cluster: place what waits, explain what stays waiting.

Runs under the cluster's allocation lease (`scheduling.tasks`). The snapshot is read once
and carried forward: an allocation that was just written counts for the next pod.

A pod or claim that trips the run over something in it is told of (`left_out`) and passed
over, so that the others do not wait for it to be mended; errors of database and Redis end the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from django.utils import timezone

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.errors import AllocatorError, DecodeError
from dra_console.allocator.explanation.explain import NOBODY_LEFT_OUT, explain
from dra_console.kube.client import Client
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind
from dra_console.leases import Lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Node, Pod, ResourceClaim
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.scheduling.attempts.record import record
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning.nodes import (
    Candidate,
    NodeUse,
    PodNeeds,
    add_pod,
    by_preference,
    use_of_nodes,
    why_not,
)
from dra_console.scheduling.planning.placement import NotPlaced, Placed, place
from dra_console.scheduling.planning.queue import WaitingPod, pending_claims, waiting_pods
from dra_console.scheduling.world import left_out
from dra_console.scheduling.world.carried import Carried
from dra_console.scheduling.world.left_out import LeftOut
from dra_console.scheduling.world.snapshot import read_snapshot, settle_written
from dra_console.scheduling.writing import pod_events
from dra_console.scheduling.writing.commit import write_all
from dra_console.scheduling.writing.outcomes import Written
from dra_console.scheduling.writing.plan import Plan, PlannedClaim, PodToBind
from dra_console.scheduling.writing.releasing import free_in_the_way
from dra_console.scheduling.writing.sending import Writer
from dra_console.scheduling.writing.turns import hold_turn

MALFORMED = (
    AllocatorError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""How an object of an unexpected shape shows."""

log = structlog.get_logger()


@dataclass(slots=True)
class _Run:
    """What one run carries from pod to pod."""

    cluster: Cluster
    client: Client
    lease: Lease
    carried: Carried
    nodes: list[Candidate]
    uses: dict[str, NodeUse]

    left_out: list[LeftOut]
    """What cannot be read, and what the run tripped over."""


def run(cluster: Cluster, lease: Lease) -> int:
    """Place waiting pods and record an attempt for each claim that waits; count pods bound."""
    client = client_of(cluster)
    try:
        hold_turn(cluster, fence=lease.fence)
    except TurnOverError as error:
        log.warning("run called off", cluster=cluster.name, reason=str(error))
        return 0
    settle_written(cluster, client)
    read = read_snapshot(cluster)
    snapshot = read.snapshot
    readable = {node.name for node in snapshot.nodes}
    state = _Run(
        cluster=cluster,
        client=client,
        lease=lease,
        carried=Carried(snapshot),
        nodes=[
            Candidate(node)
            for node in Node.objects.filter(cluster=cluster)
            if node.name in readable
        ],
        uses=use_of_nodes(Pod.objects.filter(cluster=cluster)),
        left_out=[*read.unreadable],
    )
    bound = _place_and_explain(state)
    left_out.tell(cluster, state.left_out, seen_at=timezone.now())
    return bound


def _place_and_explain(state: _Run) -> int:
    cluster, lease = state.cluster, state.lease
    bound = 0
    tried: set[str] = set()
    for waiting in waiting_pods(cluster):
        if lease.is_lost:
            log.warning("allocation lease lost", cluster=cluster.name)
            return bound
        if waiting.hindrance:
            continue
        try:
            bound += _try_pod(state, waiting)
        except MALFORMED as error:
            log.exception("pod passed over", pod=str(waiting.pod))
            state.left_out.append(_passed_over(PODS, waiting.pod, error))
            continue
        tried.update(claim.uid for claim in waiting.claims)
    for claim in pending_claims(cluster):
        if claim.uid in tried:
            continue
        if lease.is_lost:
            return bound
        try:
            _explain(state, [claim], pod_name=claim.owner_pod)
        except MALFORMED as error:
            log.exception("claim passed over", claim=str(claim))
            state.left_out.append(_passed_over(RESOURCE_CLAIMS, claim, error))
    return bound


def _passed_over(kind: Kind, row: MirroredObject, error: Exception) -> LeftOut:
    path = error.path if isinstance(error, DecodeError) else ""
    said = error.message if isinstance(error, DecodeError) else str(error)
    return LeftOut(kind.plural, row.namespace, row.name, path, said or type(error).__name__)


def _try_pod(state: _Run, waiting: WaitingPod) -> bool:
    """Place one pod if it can be; tell whether it was bound."""
    pod = waiting.pod
    known = state.carried.claims
    claims = [known[claim.uid] for claim in waiting.claims if claim.uid in known]
    if len(claims) < len(waiting.claims):
        return False  # unreadable claim: its page says why
    needs = PodNeeds(pod.raw)
    reasons = {
        each.node.name: reason
        for each in state.nodes
        if (reason := why_not(each, needs, state.uses.get(each.node.name, NodeUse())))
    }
    candidates = by_preference(
        (each.node for each in state.nodes if each.node.name not in reasons),
        held_devices=state.carried.held_devices,
    )
    answer = place(
        state.carried.snapshot,
        claims,
        nodes=state.carried.nodes([node.name for node in candidates]),
        node_reasons=reasons,
    )
    if isinstance(answer, Placed):
        return _commit(state, waiting, answer)
    if isinstance(answer, NotPlaced):
        reasons = dict(answer.node_reasons)
    attempt = _explain(
        state,
        waiting.claims,
        pod_name=pod.name,
        node_names=[node.name for node in candidates if node.name not in reasons],
        left_out=reasons,
    )
    if attempt is not None and not attempt.repeats:
        pod_events.failed_scheduling(state.client, pod, attempt.headline)
    if isinstance(answer, NotPlaced):
        _release_in_the_way(state, waiting, {claim.uid for claim in answer.unavailable})
    return False


def _commit(state: _Run, waiting: WaitingPod, placed: Placed) -> bool:
    pod = waiting.pod
    _explain(state, waiting.claims, pod_name=pod.name, node_names=[placed.node_name])
    allocations = iter(placed.allocations)
    known = state.carried.claims
    planned = [
        PlannedClaim(
            raw=claim.raw,
            allocation=next(allocations).to_json() if known[claim.uid].allocation is None else None,
        )
        for claim in waiting.claims
    ]
    plan = Plan(planned, PodToBind(pod.namespace, pod.name, pod.uid, placed.node_name))
    (done,) = write_all(state.client, state.cluster, [plan], lease=state.lease)
    pod_events.tell(state.client, [(plan, done)])
    if not isinstance(done, Written):
        log.warning("pod not bound", pod=str(pod), reason=done.reason)
        state.carried = Carried(read_snapshot(state.cluster).snapshot)
        return False
    state.carried.take(map(decode_claim, done.claims))
    add_pod(state.uses.setdefault(placed.node_name, NodeUse()), pod.raw)
    return True


def _explain(
    state: _Run,
    claims: Sequence[ResourceClaim],
    *,
    pod_name: str,
    node_names: Sequence[str] | None = None,
    left_out: Mapping[str, str] = NOBODY_LEFT_OUT,
) -> Attempt | None:
    """Record an attempt for each claim that lacks devices, tried together; return the last.

    Whether one lacks them is the snapshot's to say: it counts writes that the mirror has not
    shown yet.
    """
    known = state.carried.claims
    decoded = [
        known[claim.uid]
        for claim in claims
        if claim.uid in known and known[claim.uid].allocation is None
    ]
    if not decoded:
        return None
    explanation = explain(state.carried.snapshot, decoded, node_names=node_names, left_out=left_out)
    tried = {claim.uid for claim in decoded}
    attempt = None
    for claim in claims:
        if claim.uid not in tried:
            continue
        attempt = record(claim, explanation, pod_name=pod_name, at=timezone.now())
    return attempt


def _release_in_the_way(state: _Run, waiting: WaitingPod, unavailable: set[str]) -> None:
    """Free one allocated claim that keeps its own pod from every node (PostFilter).

    The mirror may not show yet that the pod was bound, and it may use the claim's devices by
    now: so the API server is asked first.
    """
    pod = waiting.pod
    for claim in waiting.claims:
        users = {entry.get("uid") for entry in claim.reserved_for}
        if claim.uid in unavailable and users <= {pod.uid}:
            free_in_the_way(
                Writer(state.client, state.lease),
                state.cluster,
                claim.raw,
                pod=PodToBind(pod.namespace, pod.name, pod.uid, node_name=""),
            )
            return
