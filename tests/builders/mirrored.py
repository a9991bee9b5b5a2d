"""Put objects into the mirror as a list of the API server would, cursors included."""

from collections import defaultdict
from datetime import UTC, datetime

from django.utils import timezone

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import BY_PLURAL, Kind
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.reconcile import apply

SEEN_AT = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


def mirror(cluster: Cluster, *objects: JsonObject, seen_at: datetime = SEEN_AT) -> None:
    """Apply the objects kind by kind; kinds without objects count as listed, too."""
    by_kind: dict[Kind, list[JsonObject]] = defaultdict(list)
    for one in objects:
        [kind] = [kind for kind in BY_PLURAL.values() if kind.kind == one["kind"]]
        by_kind[kind].append(one)
    for plural in MIRRORED:
        kind = BY_PLURAL[plural]
        apply(cluster, kind=kind, objects=by_kind[kind], seen_at=seen_at)
        Cursor.objects.update_or_create(
            cluster=cluster,
            plural=plural,
            defaults={
                "resource_version": "100",
                "listed_at": seen_at,
                "last_contact_at": timezone.now(),
            },
        )
