"""Attempts as the explaining task records them, from mirrored claims and pods."""

from datetime import UTC, datetime

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import Explanation
from dra_console.mirror.models import Cluster, Pod, ResourceClaim, ResourceClaimTemplate
from dra_console.scheduling.attempts.bodies import body_of
from dra_console.scheduling.attempts.record import record_all
from dra_console.scheduling.attempts.subjects import Named, Subject, signature_of, subjects_of
from dra_console.scheduling.attempts.tries import Try, tries_of
from dra_console.scheduling.models import Attempt, Outcome
from dra_console.scheduling.world.snapshot import read_snapshot

TRIED_AT = datetime(2026, 11, 29, 20, 5, tzinfo=UTC)


def try_all(cluster: Cluster, *, at: datetime = TRIED_AT) -> None:
    """Record a try of everything that waits in the mirror."""
    templates = ResourceClaimTemplate.objects.filter(cluster=cluster)
    subjects = subjects_of(
        Pod.objects.filter(cluster=cluster, node_name=""),
        [decode_claim(row.raw) for row in ResourceClaim.objects.filter(cluster=cluster)],
        templates=frozenset(Named(row.namespace, row.name) for row in templates),
    )
    record_all(cluster, tries_of(read_snapshot(cluster).snapshot, subjects), at=at)


def record(
    claim: ResourceClaim, explanation: Explanation, *, pod_name: str, at: datetime
) -> Attempt:
    """Record what somebody says of one mirrored claim."""
    subject = Subject(claim.namespace, (decode_claim(claim.raw),), pod_name=pod_name)
    outcome = Outcome(explanation.outcome.value)
    one = Try(
        subject=subject,
        signature=signature_of(subject),
        outcome=outcome,
        headline=explanation.headline,
        node_name=explanation.node or "",
        steps=explanation.steps,
        body=body_of(explanation, outcome=outcome.value),
    )
    record_all(claim.cluster, [one], at=at)
    return Attempt.objects.get(cluster=claim.cluster, subject_uid=claim.uid, is_newest=True)
