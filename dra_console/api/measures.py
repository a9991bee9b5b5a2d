"""What Prometheus is told, read from database and Redis at the moment of the scrape.

No process counts for itself, so the answer is the same whichever of several web processes
gives it. What is not known is left out: an absent series says so, a 0 would be a fact.
Numbers only, and no names but those of clusters and kinds: whoever is logged in may see them.
"""

import platform
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from importlib import metadata
from typing import Any, Final

import django
from django.db import connection
from django.db.models import Count, F, Q, QuerySet
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from dra_console.api.allocation_measures import allocation_measures
from dra_console.api.conflict_measures import conflict_measures
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import (
    ClaimState,
    Cluster,
    FoundBy,
    ObjectProblem,
    Pool,
    ResourceClaim,
)
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed, follow_states

PREFIX: Final = "dra_console"
OF_KIND: Final = ("cluster", "kind")


def measures(*, now: datetime) -> Iterator[Metric]:
    """Measure everything once."""
    yield _build()
    followed = follow_states(Cluster.objects.order_by("name"), now=now)
    enabled = [one for one in followed if one.cluster.enabled]
    yield _gauge(
        "cluster_enabled",
        "Whether the cluster is followed at all.",
        ("cluster",),
        (((one.cluster.name,), float(one.cluster.enabled)) for one in followed),
    )
    yield from _servers(enabled, now=now)
    yield from _kinds(enabled, now=now)
    yield from _contents(enabled)
    clusters = [one.cluster for one in enabled]
    yield from allocation_measures(clusters, prefix=PREFIX)
    yield from conflict_measures(clusters, prefix=PREFIX, now=now)


def _build() -> Metric:
    labels = {
        "version": metadata.version("dra-console"),
        "python": platform.python_version(),
        "django": django.get_version(),
        "database": connection.vendor,
    }
    values = [(tuple(labels.values()), 1.0)]
    return _gauge("build_info", "What runs here.", tuple(labels), values)


def _servers(clusters: Iterable[ClusterFollowed], *, now: datetime) -> Iterator[Metric]:
    asked = [(one.cluster.name, one.server) for one in clusters if one.server is not None]
    yield _gauge(
        "cluster_reachable",
        "Whether the API server answered when it was last asked.",
        ("cluster",),
        (((name,), float(not server.error)) for name, server in asked),
    )
    yield _gauge(
        "cluster_last_answer_age_seconds",
        "Since the API server last answered when it was asked how it is.",
        ("cluster",),
        (
            ((name,), _seconds(now - server.answered_at))
            for name, server in asked
            if server.answered_at is not None
        ),
    )
    yield _gauge(
        "cluster_info",
        "The API server's version, and the versions of resource.k8s.io that it serves.",
        ("cluster", "version", "resource_versions"),
        (
            ((name, server.version, ",".join(server.resource_versions)), 1.0)
            for name, server in asked
            if server.answered_at is not None
        ),
    )
    yield _gauge(
        "sync_windows_held",
        "Kinds that a worker follows at this moment.",
        ("cluster",),
        (
            ((one.cluster.name,), float(one.windows_held))
            for one in clusters
            if one.windows_held is not None
        ),
    )


def _kinds(clusters: Iterable[ClusterFollowed], *, now: datetime) -> Iterator[Metric]:
    kinds = [(one.cluster.name, kind) for one in clusters for kind in one.kinds]

    def gauge(name: str, text: str, value: Callable[[KindFollowed], float | None]) -> Metric:
        measured = (((cluster, kind.plural), value(kind)) for cluster, kind in kinds)
        return _gauge(name, text, OF_KIND, measured)

    yield _gauge(
        "mirror_state",
        "What the mirror does with a kind: 1 for the state that it is in.",
        (*OF_KIND, "state"),
        (
            ((cluster, kind.plural, state.value), float(kind.state is state))
            for cluster, kind in kinds
            for state in FollowState
            if state is not FollowState.DISABLED
        ),
    )
    yield gauge(
        "mirror_lag_seconds",
        "Since the API server last spoke for this kind, bookmarks included.",
        lambda kind: _seconds(kind.lag),
    )
    yield gauge(
        "mirror_last_event_age_seconds",
        "Since an object of this kind was last seen to change.",
        lambda kind: _age(kind.last_event_at, now=now),
    )
    yield gauge(
        "mirror_last_list_age_seconds",
        "Since all objects of this kind were last listed.",
        lambda kind: _age(kind.listed_at, now=now),
    )
    yield gauge(
        "mirror_objects",
        "Mirrored objects of this kind.",
        lambda kind: None if kind.objects is None else float(kind.objects),
    )
    yield _counter(
        "mirror_relists",
        "How often everything was listed again since the thread was lost.",
        (((cluster, kind.plural), float(kind.relists)) for cluster, kind in kinds),
    )
    yield _counter(
        "mirror_failures",
        "Watch windows that broke off; refusals (403, 404) are no failures.",
        (((cluster, kind.plural), float(kind.failures)) for cluster, kind in kinds),
    )


def _contents(clusters: Iterable[ClusterFollowed]) -> Iterator[Metric]:
    """Count what is in the mirror, of clusters whose kinds have been listed."""
    clusters = list(clusters)
    with_slices = _with(clusters, RESOURCE_SLICES.plural)
    with_claims = _with(clusters, RESOURCE_CLAIMS.plural)
    lacking_slices = Count("pk", filter=Q(slices_seen__lt=F("slices_expected")))
    pools = {
        cluster: (total, lacking)
        for cluster, total, lacking in Pool.objects.filter(cluster__name__in=with_slices)
        .values_list("cluster__name")
        .annotate(total=Count("pk"), lacking=lacking_slices)
        .order_by()
    }
    yield _gauge(
        "pools",
        "Pools of devices.",
        ("cluster",),
        (((name,), float(pools.get(name, (0, 0))[0])) for name in with_slices),
    )
    yield _gauge(
        "pools_incomplete",
        "Pools of which slices are missing.",
        ("cluster",),
        (((name,), float(pools.get(name, (0, 0))[1])) for name in with_slices),
    )
    claims = _counted_by_cluster_and(
        "state", ResourceClaim.objects.filter(cluster__name__in=with_claims)
    )
    yield _gauge(
        "claims",
        "Resource claims by state; pending ones wait for devices.",
        ("cluster", "state"),
        (
            ((name, state.value), float(claims.get((name, state.value), 0)))
            for name in with_claims
            for state in ClaimState
        ),
    )
    problems = _counted_by_cluster_and(
        "found_by", ObjectProblem.objects.filter(cluster__enabled=True)
    )
    yield _gauge(
        "object_problems",
        "Objects that something in them keeps from being mirrored or used as they are.",
        ("cluster", "found_by"),
        (
            ((one.cluster.name, by.value), float(problems.get((one.cluster.name, by.value), 0)))
            for one in clusters
            for by in FoundBy
        ),
    )


def _with(clusters: Iterable[ClusterFollowed], plural: str) -> list[str]:
    """Name the clusters of which this kind has been listed."""
    return [
        one.cluster.name
        for one in clusters
        for kind in one.kinds
        if kind.plural == plural and kind.listed_at is not None
    ]


def _counted_by_cluster_and(column: str, rows: QuerySet[Any]) -> dict[tuple[str, str], int]:
    """Count rows by their cluster's name and the value of one more column, in one query."""
    counted = rows.values_list("cluster__name", column).annotate(Count("pk")).order_by()
    return {(cluster, value): count for cluster, value, count in counted}


def _gauge(
    name: str,
    text: str,
    labels: tuple[str, ...],
    values: Iterable[tuple[tuple[str, ...], float | None]],
) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for label_values, value in values:
        if value is not None:
            family.add_metric(label_values, value)
    return family


def _counter(name: str, text: str, values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=OF_KIND)
    for label_values, value in values:
        family.add_metric(label_values, value)
    return family


def _age(moment: datetime | None, *, now: datetime) -> float | None:
    return None if moment is None else _seconds(now - moment)


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else max(length.total_seconds(), 0.0)
