"""Doors for Celery: windows that allocate, and explanations for what waits.

A window is opened by a change in the mirror, or by beat in case a change went unnoticed, and
opens the next one itself while there is something to do. Several may try at once: the lease lets
one through, and whoever has it hears of all changes (`allocating.wakes`).

Explanations are made beside it, at most every second and for a tenth of the time, from a mirror
that is whole; the worker of the queue `default` makes them, so that they take nothing from the one
that allocates.
"""

import threading
import time
from typing import Final

import redis
from celery.signals import worker_shutting_down
from django.conf import settings
from django.utils import timezone

from dra_console.celery import app
from dra_console.leases import is_held, lease
from dra_console.mirror.models import Cluster
from dra_console.returned_memory import returned_memory
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.explaining import READ, explain_waiting
from dra_console.scheduling.allocating.wakes import Wake
from dra_console.scheduling.allocating.window import IDLE_SECONDS, Ended, Window, allocate
from dra_console.scheduling.attempts.retention import forget_old
from dra_console.scheduling.models import Turn
from dra_console.scheduling.pace import Pace
from dra_console.scheduling.world.being_listed import being_listed

LEASE_SECONDS: Final = 15
QUEUED_SECONDS: Final = 10
"""A task that was queued and never began blocks the next for no longer than this."""

REST_SECONDS: Final = 3
"""After a window that could not begin, or that failed."""

EXPLAIN_DELAY_SECONDS: Final = 1.0
PAUSES_PER_EXPLAINING: Final = 9
"""Explaining rests for so many times as long as it took."""

LONGEST_REST_SECONDS: Final = 30

# Asked while the mirror is being written: a Redis that hangs must not hold that up.
_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)

_stopping: Final = threading.Event()


@worker_shutting_down.connect
def stop_windows(**_: object) -> None:
    """End all windows of this worker."""
    _stopping.set()


def wake(cluster_id: int, change: Wake) -> None:
    """Tell the open window of a change, or open one.

    Raises:
        RedisError: nobody could be told.

    """
    wakes.push(cluster_id, change)
    # A window looks for what it has not heard after it gave its lease back.
    if not is_held(lease_name(cluster_id)):
        request_window(cluster_id)
    request_explanations(cluster_id)


def request_window(cluster_id: int, *, idle_seconds: float = IDLE_SECONDS) -> None:
    """Queue a window, unless one is queued already."""
    if _redis.set(_queued_key(cluster_id), 1, nx=True, ex=QUEUED_SECONDS):
        allocate_for_cluster.apply_async(
            args=(cluster_id,), kwargs={"idle_seconds": idle_seconds}, expires=QUEUED_SECONDS
        )


def request_explanations(cluster_id: int, *, delay_seconds: float = EXPLAIN_DELAY_SECONDS) -> None:
    """Queue explanations, unless they are queued already."""
    if _redis.set(f"explain:queued:{cluster_id}", 1, nx=True, ex=QUEUED_SECONDS):
        explain_for_cluster.apply_async(
            args=(cluster_id,), countdown=delay_seconds, expires=QUEUED_SECONDS
        )


# Acknowledged at once: a window that dies with its worker is opened again by beat in seconds,
# not by the broker in minutes.
@app.task(acks_late=False)
def allocate_for_cluster(cluster_id: int, *, idle_seconds: float = IDLE_SECONDS) -> None:
    """Allocate for one window, unless somebody does already."""
    _redis.delete(_queued_key(cluster_id))
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is None or _stopping.is_set():
        return
    turn = Turn.objects.filter(cluster=cluster).first()
    with lease(
        lease_name(cluster_id), seconds=LEASE_SECONDS, above=turn.fence if turn else 0
    ) as held:
        if held is None:
            return
        ended, _ = allocate(
            Window(cluster, held, idle_seconds=idle_seconds, stopped=_stopping.is_set)
        )
    if ended in {Ended.NOT_MIRRORED, Ended.FAILED}:
        # Every change would open one that ends at once.
        _redis.set(_queued_key(cluster_id), 1, ex=REST_SECONDS)
    elif ended is not Ended.IDLE or wakes.is_waiting(cluster_id):
        request_window(cluster_id)


@app.task
def explain_for_cluster(cluster_id: int) -> None:
    """Record why everything waits that does, unless somebody does or it would be too soon.

    Too soon is also while what explanations are made of is being listed.
    """
    _redis.delete(f"explain:queued:{cluster_id}")
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is None or _redis.exists(f"explain:rests:{cluster_id}"):
        return
    if being_listed(cluster, READ):
        # Nothing may change once they are listed, so nobody else would ask again.
        request_explanations(cluster_id, delay_seconds=REST_SECONDS)
        return
    with lease(f"explain:{cluster_id}", seconds=LEASE_SECONDS) as held:
        if held is None:
            return
        began_at, pace = time.monotonic(), Pace()
        with returned_memory():
            explain_waiting(cluster, pace)
        worked_seconds = time.monotonic() - began_at - pace.rested_seconds
        rest_seconds = worked_seconds * PAUSES_PER_EXPLAINING
        rest_milliseconds = round(min(rest_seconds, LONGEST_REST_SECONDS) * 1000)
        _redis.set(f"explain:rests:{cluster_id}", 1, px=max(rest_milliseconds, 1))


@app.task
def sweep() -> None:
    """Open a window for every enabled cluster, in case a change was not noticed; explain likewise.

    Such a window ends at once if there is nothing to do.
    """
    for cluster in Cluster.objects.filter(enabled=True):
        forget_old(cluster, now=timezone.now())
        if not is_held(lease_name(cluster.pk)):
            request_window(cluster.pk, idle_seconds=0.0)
        request_explanations(cluster.pk)


def _queued_key(cluster_id: int) -> str:
    return f"schedule:queued:{cluster_id}"


def lease_name(cluster_id: int) -> str:
    """Name the lease under which a cluster is allocated for."""
    return f"allocate:{cluster_id}"
