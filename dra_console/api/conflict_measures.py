"""How many conflicts of each kind there are, for Prometheus; numbers only."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily, Metric

from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.findings import FindingKind
from dra_console.scheduling.models import Conflict, ConflictCheck


def conflict_measures(
    clusters: Sequence[Cluster], *, prefix: str, now: datetime
) -> Iterator[Metric]:
    """Count findings of clusters that were looked at; a kind without any is 0."""
    ages = {
        check.cluster_id: max((now - check.checked_at).total_seconds(), 0.0)
        for check in ConflictCheck.objects.filter(cluster__in=clusters)
    }
    told = Conflict.objects.filter(cluster__in=clusters, told_from__lte=now).order_by()
    found = {
        (cluster_id, kind): number
        for cluster_id, kind, number in told.values_list("cluster", "kind").annotate(Count("pk"))
    }
    number = GaugeMetricFamily(
        f"{prefix}_conflicts",
        "Devices given twice, stuck claims and the like, by kind.",
        labels=("cluster", "kind"),
    )
    age = GaugeMetricFamily(
        f"{prefix}_conflicts_check_age_seconds",
        "Since conflicts were last looked for.",
        labels=("cluster",),
    )
    for cluster in clusters:
        if cluster.pk not in ages:
            continue
        age.add_metric((cluster.name,), ages[cluster.pk])
        for kind in FindingKind:
            number.add_metric((cluster.name, kind.value), found.get((cluster.pk, kind.value), 0))
    yield number
    yield age
