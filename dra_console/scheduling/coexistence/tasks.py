"""When conflicts are looked for: soon after changes, and every few seconds in any case."""

from typing import Final

import redis
from django.conf import settings

from dra_console.celery import app
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.leases import lease
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster
from dra_console.returned_memory import returned_memory
from dra_console.scheduling.coexistence.look import forget, look
from dra_console.scheduling.models import ConflictCheck
from dra_console.scheduling.world.being_listed import being_listed

LISTED_FIRST: Final = (RESOURCE_CLAIMS, RESOURCE_SLICES)
"""While one of them is there in part, a device seems to be gone, or held by two. Of other kinds
either nothing is said until they are listed, or only what stands for a while."""

LEASE_SECONDS: Final = 30
QUEUED_SECONDS: Final = 30
DEBOUNCE_SECONDS: Final = 3
SHARE_OF_TIME: Final = 20
"""A look that takes a second is followed by the next after 20: it must not hold up the rest."""
LONGEST_PAUSE_SECONDS: Final = 30

_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)


def request_look(cluster_id: int) -> None:
    """Queue one look at a cluster, unless one is queued already."""
    key = f"conflicts:queued:{cluster_id}"
    if _redis.set(key, 1, nx=True, ex=QUEUED_SECONDS):
        look_for_conflicts.apply_async(
            args=(cluster_id,), countdown=DEBOUNCE_SECONDS, expires=QUEUED_SECONDS
        )


@app.task
def look_for_conflicts(cluster_id: int) -> None:
    """Look once, unless somebody does, or it would be too soon; the sweep comes back."""
    _redis.delete(f"conflicts:queued:{cluster_id}")
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is None:
        forget(cluster_id)
        return
    if being_listed(cluster, LISTED_FIRST):
        # Nothing may change once they are listed, so nobody else would ask again.
        request_look(cluster_id)
        return
    if _is_too_soon(cluster):
        return
    with lease(f"conflicts:{cluster_id}", seconds=LEASE_SECONDS) as held:
        if held is not None:
            with returned_memory():
                look(cluster)


@app.task
def sweep_for_conflicts() -> None:
    """Look at every enabled cluster, in case a change was not noticed."""
    for cluster in Cluster.objects.filter(enabled=True):
        request_look(cluster.pk)


def _is_too_soon(cluster: Cluster) -> bool:
    check = ConflictCheck.objects.filter(cluster=cluster).first()
    if check is None:
        return False
    age = database_now() - check.checked_at
    return 0 <= age.total_seconds() < min(SHARE_OF_TIME * check.seconds, LONGEST_PAUSE_SECONDS)
