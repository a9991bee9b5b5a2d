"""Forget history that is old, so that it does not outgrow what it is about."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef

from dra_console.mirror.models import ObjectChange, ResourceClaim

KEPT: Final = timedelta(days=30)


def forget_old_changes(*, now: datetime) -> int:
    """Delete what happened longer ago than `KEPT`, and return how much that was.

    A claim that is still there keeps its whole life: its page tells it from the beginning.
    """
    its_claim = ResourceClaim.objects.filter(cluster=OuterRef("cluster"), uid=OuterRef("uid"))
    old = ObjectChange.objects.filter(~Exists(its_claim), seen_at__lt=now - KEPT)
    deleted, _ = old.delete()
    return deleted
