"""Forget history that is old, so that it does not outgrow what it is about."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Exists, OuterRef

from dra_console.mirror.models import ObjectChange, ResourceClaim

KEPT: Final = timedelta(days=30)
KEPT_PER_OBJECT: Final = 500
"""Of an object that changes all the time, so that it does not outgrow all others."""


def forget_old_changes(*, now: datetime) -> int:
    """Delete what happened longer ago than `KEPT`, and return how much that was.

    A claim that is still there keeps its life from the beginning, for its page, but no more
    than the newest `KEPT_PER_OBJECT` changes of it; neither does any other object.
    """
    its_claim = ResourceClaim.objects.filter(cluster=OuterRef("cluster"), uid=OuterRef("uid"))
    old = ObjectChange.objects.filter(~Exists(its_claim), seen_at__lt=now - KEPT)
    deleted, _ = old.delete()
    return deleted + _forget_excess()


def _forget_excess() -> int:
    busy = (
        ObjectChange.objects.order_by()
        .values("cluster_id", "uid")
        .annotate(changes=Count("pk"))
        .filter(changes__gt=KEPT_PER_OBJECT)
    )
    deleted = 0
    for cluster_id, uid in list(busy.values_list("cluster_id", "uid")):
        newest_first = ObjectChange.objects.filter(cluster=cluster_id, uid=uid).order_by(
            "-seen_at", "-pk"
        )
        excess = newest_first.values_list("pk", flat=True)[KEPT_PER_OBJECT:]
        deleted += ObjectChange.objects.filter(pk__in=list(excess)).delete()[0]
    return deleted
