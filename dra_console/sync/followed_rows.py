"""Read what is known of how clusters are followed: cursors, counts of rows, leases."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Count
from redis import RedisError

from dra_console.leases import held_among
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.tasks import lease_name


def cursors_of(clusters: Sequence[Cluster]) -> Mapping[int, dict[str, Cursor]]:
    """Map each cluster to its cursors by plural."""
    found: dict[int, dict[str, Cursor]] = defaultdict(dict)
    for cursor in Cursor.objects.filter(cluster__in=clusters):
        found[cursor.cluster_id][cursor.plural] = cursor
    return found


def object_counts(clusters: Sequence[Cluster]) -> Mapping[str, Mapping[int, int]]:
    """Count the mirrored objects by kind and cluster."""
    return {
        plural: dict(
            mirrored.model._default_manager.filter(cluster__in=clusters)  # noqa: SLF001 - Django's documented name
            .values_list("cluster")
            .annotate(Count("pk"))
            .order_by()
        )
        for plural, mirrored in MIRRORED.items()
    }


def leases_held(clusters: Sequence[Cluster]) -> frozenset[str] | None:
    """Return the leases of these clusters that somebody holds; None: Redis does not tell."""
    try:
        return held_among(
            [lease_name(cluster.pk, plural) for cluster in clusters for plural in MIRRORED]
        )
    except RedisError:
        return None
