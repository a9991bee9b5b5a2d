"""Start scheduling runs: on changes, debounced, and every few seconds in case one was lost."""

import redis
from django.conf import settings
from django.utils import timezone

from dra_console.celery import app
from dra_console.leases import lease
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.run import run
from dra_console.scheduling.attempts.retention import forget_old

LEASE_SECONDS = 15
QUEUED_SECONDS = 10
"""A run that was queued and never began blocks the next for no longer than this."""
DEBOUNCE_SECONDS = 0.1
BUSY_RETRY_SECONDS = 0.5

# Asked while the mirror is being written: a Redis that hangs must not hold that up.
_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)


def request_run(cluster_id: int, *, delay_seconds: float = DEBOUNCE_SECONDS) -> None:
    """Queue one run of a cluster, unless one is queued already."""
    if _redis.set(_queued_key(cluster_id), 1, nx=True, ex=QUEUED_SECONDS):
        schedule_cluster.apply_async(
            args=(cluster_id,), countdown=delay_seconds, expires=QUEUED_SECONDS
        )


@app.task
def schedule_cluster(cluster_id: int) -> None:
    """Run once; a run that is under way elsewhere is followed by another."""
    _redis.delete(_queued_key(cluster_id))
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is None:
        return
    with lease(f"allocate:{cluster_id}", seconds=LEASE_SECONDS) as held:
        if held is not None:
            run(cluster, held)
            return
    request_run(cluster_id, delay_seconds=BUSY_RETRY_SECONDS)


@app.task
def sweep() -> None:
    """Run every enabled cluster, in case a change was not noticed; forget old attempts."""
    for cluster in Cluster.objects.filter(enabled=True):
        forget_old(cluster, now=timezone.now())
        request_run(cluster.pk)


def _queued_key(cluster_id: int) -> str:
    return f"schedule:queued:{cluster_id}"
