"""Keep what a look found: what stands already keeps the time since when it is known."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import transaction

from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.findings import Finding
from dra_console.scheduling.models import Conflict

KEPT_PER_KIND: Final = 2_000
"""Beyond that one cause shows many times; the rest is counted."""

COLUMNS: Final = ("severity", "namespaces", "body", "since", "told_from")


def record(cluster: Cluster, findings: Iterable[Finding], *, now: datetime) -> int:
    """Store these findings and forget all others; return how many were too many to keep.

    One at a time for a cluster.
    """
    wanted, left_out = _bounded(findings)
    stored = {(row.kind, row.key_digest): row for row in Conflict.objects.filter(cluster=cluster)}
    gone = [row.pk for key, row in stored.items() if key not in wanted]
    new, changed = [], []
    # What one look finds is told in the order in which it was stored.
    for key, finding in sorted(wanted.items(), key=lambda item: item[1].key):
        before = stored.get(key)
        row = _row(cluster, key, finding, seen_at=before.since if before else now)
        if before is None:
            new.append(row)
        elif any(getattr(before, name) != getattr(row, name) for name in COLUMNS):
            row.pk = before.pk
            changed.append(row)
    if gone or new or changed:
        # All that can be done before: on SQLite nobody else can write meanwhile.
        with transaction.atomic():
            Conflict.objects.filter(pk__in=gone).delete()
            Conflict.objects.bulk_create(new, batch_size=500)
            Conflict.objects.bulk_update(changed, COLUMNS, batch_size=100)
    return left_out


def _bounded(findings: Iterable[Finding]) -> tuple[dict[tuple[str, str], Finding], int]:
    wanted: dict[tuple[str, str], Finding] = {}
    number: Counter[str] = Counter()
    left_out = 0
    for finding in findings:
        number[finding.kind] += 1
        if number[finding.kind] > KEPT_PER_KIND:
            left_out += 1
            continue
        digest = hashlib.sha256(finding.key.encode(errors="surrogatepass")).hexdigest()
        wanted[finding.kind.value, digest] = finding
    return wanted, left_out


def _row(
    cluster: Cluster, key: tuple[str, str], finding: Finding, *, seen_at: datetime
) -> Conflict:
    since = finding.since or seen_at
    return Conflict(
        cluster=cluster,
        kind=key[0],
        key_digest=key[1],
        severity=finding.severity.value,
        namespaces=sorted(finding.namespaces),
        body=finding.to_json(),
        since=since,
        told_from=since + finding.grace,
    )
