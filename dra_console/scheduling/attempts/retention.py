"""Forget attempts with age and number, and explanations that no attempt refers to any more."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef

from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt, KeptExplanation

KEPT_AFTER_LAST: Final = timedelta(days=7)
KEPT_PER_CLUSTER: Final = 100_000
"""Attempts, the newest: a cluster that runs short jobs all day makes millions a week."""

UNUSED_KEPT: Final = timedelta(hours=1)
"""An explanation may be stored a moment before its attempts are."""

DELETED_AT_ONCE: Final = 5_000
"""A sweep that finds more leaves them to the next."""


def forget_old(cluster: Cluster, *, now: datetime) -> int:
    """Delete attempts that ended long ago or are too many; return how many."""
    forgotten = _delete(cluster, last_at__lt=now - KEPT_AFTER_LAST)
    last_kept = (
        Attempt.objects.filter(cluster=cluster)
        .order_by("-pk")
        .values_list("pk", flat=True)[KEPT_PER_CLUSTER : KEPT_PER_CLUSTER + 1]
        .first()
    )
    if last_kept is not None:
        forgotten += _delete(cluster, pk__lte=last_kept)
    _forget_unused(cluster, now=now)
    return forgotten


def _delete(cluster: Cluster, **old: object) -> int:
    rows = Attempt.objects.filter(cluster=cluster, **old).order_by("pk")
    pks = list(rows.values_list("pk", flat=True)[:DELETED_AT_ONCE])
    Attempt.objects.filter(pk__in=pks).delete()
    return len(pks)


def _forget_unused(cluster: Cluster, *, now: datetime) -> None:
    referring = Attempt.objects.filter(kept=OuterRef("pk"))
    KeptExplanation.objects.filter(
        ~Exists(referring), cluster=cluster, used_at__lt=now - UNUSED_KEPT
    ).delete()
