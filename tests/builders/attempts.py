"""Attempts as the explaining task records them, from mirrored claims and pods."""

from datetime import UTC, datetime

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.mirror.models import Cluster, Pod, ResourceClaim, ResourceClaimTemplate
from dra_console.scheduling.attempts.record import record_all
from dra_console.scheduling.attempts.subjects import Named, subjects_of
from dra_console.scheduling.attempts.tries import tries_of
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
