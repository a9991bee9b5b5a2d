"""Explain what waits, whoever schedules it: beside the hot path, from the mirror alone.

An explanation looks at every node and takes as long as hundreds of plans. So it is made by a
task of its own, at most every second, and what it says is as old as the mirror.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.utils import timezone

from dra_console.allocator.search.fleet import Fleet
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_console.mirror.models import (
    ClaimState,
    Cluster,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dra_console.scheduling.allocating.hindrances import pods_that_wait, with_hindrance
from dra_console.scheduling.allocating.inventory import NODE_FACTS
from dra_console.scheduling.attempts.record import record_all
from dra_console.scheduling.attempts.subjects import Named, Subject, subjects_of
from dra_console.scheduling.attempts.tries import Try, tries_of
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL, SCHEDULER_NAME
from dra_console.scheduling.pace import Pace
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.grouped import positions_in
from dra_console.scheduling.planning.managed import has_managed, tolerating_managed
from dra_console.scheduling.planning.mirrored_use import read_uses
from dra_console.scheduling.planning.plans import Refused
from dra_console.scheduling.planning.reasons import reason_of_lack
from dra_console.scheduling.planning.wishes import PodWish, wish_of_pod
from dra_console.scheduling.world import left_out
from dra_console.scheduling.world.left_out import LeftOut
from dra_console.scheduling.world.snapshot import ReadSnapshot, read_snapshot

READ: Final = (
    NODES,
    DEVICE_CLASSES,
    RESOURCE_SLICES,
    DEVICE_TAINT_RULES,
    RESOURCE_CLAIM_TEMPLATES,
    PODS,
    RESOURCE_CLAIMS,
)
"""What explanations are made of. A kind that is there in part makes them wrong: room on a node
that a pod takes, devices that a claim holds, a template that is said not to exist."""


def explain_waiting(cluster: Cluster, pace: Pace) -> list[Try]:
    """Record a try for each pod and claim that waits; return those that say something new."""
    read = read_snapshot(cluster)
    pace.rest()
    pods = pods_that_wait(cluster)
    board = _board(cluster, read)
    pace.rest()
    ahead = _reserved_ahead(cluster)
    tries = tries_of(
        read.snapshot,
        _subjects(cluster, read, pods, ahead=ahead),
        node_reasons=lambda subject: _node_reasons(board, subject, ahead=ahead),
    )
    fresh = record_all(cluster, _paced(tries, pace), at=timezone.now())
    left_out.tell(cluster, [*read.unreadable, *_refused(pods)], seen_at=timezone.now())
    return fresh


def _paced(tries: Iterable[Try], pace: Pace) -> Iterator[Try]:
    for one in tries:
        yield one
        pace.rest()


def _subjects(
    cluster: Cluster, read: ReadSnapshot, pods: Sequence[Pod], *, ahead: Collection[str]
) -> Iterator[Subject]:
    """List what waits; what the console allocates itself may have devices that it manages."""
    raw = {pod.uid: pod.raw for pod in pods}
    nodes = {node.name: node for node in read.snapshot.nodes}
    only = has_managed(read.snapshot.taint_rules)
    templates = ResourceClaimTemplate.objects.filter(cluster=cluster)
    for subject in subjects_of(
        pods,
        read.snapshot.claims,
        templates=frozenset(
            Named(namespace, name) for namespace, name in templates.values_list("namespace", "name")
        ),
        unreadable=frozenset(
            Named(each.namespace, each.name)
            for each in read.unreadable
            if each.plural == RESOURCE_CLAIMS.plural
        ),
    ):
        is_ours = (
            subject.pod_spec.get("schedulerName") == SCHEDULER_NAME
            if subject.pod_uid
            else subject.uid in ahead
        )
        seen = subject
        if is_ours:
            claims = (tolerating_managed(each, only=only) for each in subject.claims)
            seen = replace(subject, claims=tuple(claims))
        if subject.pod_uid:
            seen = with_hindrance(seen, raw[subject.pod_uid], nodes=nodes, is_ours=is_ours)
        if seen.hindrance or not subject.pod_spec.get("nodeName"):
            yield seen


def _reserved_ahead(cluster: Cluster) -> frozenset[str]:
    labels = KeyTransform("labels", KeyTransform("metadata", "raw"))
    claims = ResourceClaim.objects.filter(cluster=cluster, state=ClaimState.PENDING).annotate(
        ahead=KeyTextTransform(RESERVE_AHEAD_LABEL, labels)
    )
    return frozenset(claims.filter(ahead="true").values_list("uid", flat=True))


def _board(cluster: Cluster, read: ReadSnapshot) -> NodeBoard:
    board = NodeBoard(Fleet(replace(read.snapshot, slices=(), claims=())))
    for facts in NODE_FACTS.read(cluster).readable:
        board.put_facts(facts)
    board.show_use(read_uses(cluster))
    return board


def _node_reasons(
    board: NodeBoard, subject: Subject, *, ahead: Collection[str]
) -> Mapping[str, str]:
    """Say why the subject's pod cannot run on nodes, whatever devices they have.

    A claim that is reserved ahead is placed as a pod is that asks for nothing else; where the
    pod of any other claim runs, nobody knows.
    """
    wish: PodWish | Refused = PodWish()
    if subject.pod_uid:
        wish = wish_of_pod({"metadata": {"uid": subject.pod_uid}, "spec": subject.pod_spec})
    elif subject.uid not in ahead:
        return {}
    if isinstance(wish, Refused):
        return {}
    columns = board.columns
    reasons = {
        columns.name_at(position): f"the node {reason}"
        for reason, nodes in columns.by_reason(wish.nodes).items()
        if reason
        for position in positions_in(nodes & columns.present)
    }
    for resource, nodes in columns.by_lacking(wish.requests).items():
        if not resource:
            continue
        reason = f"the node {reason_of_lack(board, wish, resource, nodes)}"
        for position in positions_in(nodes & columns.present):
            reasons.setdefault(columns.name_at(position), reason)
    return reasons


def _refused(pods: Iterable[Pod]) -> Iterator[LeftOut]:
    """Name the pods of the console's own that ask for what cannot be read, or is not done."""
    for pod in pods:
        if pod.scheduler_name == SCHEDULER_NAME:
            wish = wish_of_pod(pod.raw)
            if isinstance(wish, Refused):
                yield LeftOut(PODS.plural, pod.namespace, pod.name, wish.field, wish.reason)
