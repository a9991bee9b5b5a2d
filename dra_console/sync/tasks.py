"""Doors for Celery: beat opens windows, each window is one task.

A window that ends in time queues the next one itself; beat only opens those that are
missing, after a failure or the death of a worker. Both may try at once: the lease lets one
through.

Windows end early when the worker is asked to stop, so a warm shutdown takes about a
second. The signal for it is sent in the worker's main process: run these tasks with
`--pool threads`, where that is the process that they run in.
"""

import threading
from datetime import timedelta
from typing import Final

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from dra_console.leases import is_held, lease
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.collector import look_less_often
from dra_console.sync.follow import Ended, follow
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.probe import PROBE_SECONDS, probe
from dra_console.sync.retention import forget_old_changes
from dra_console.sync.window import Window

WINDOW_SECONDS: Final = 240
LEASE_SECONDS: Final = 15
"""How long a killed worker keeps others from following its kinds."""

EXPIRES_SECONDS: Final = 15
"""A window that no worker had time for is dropped; beat asks for it again."""

UNSERVED_PAUSE = timedelta(seconds=60)
"""How often to ask for a kind that is not served, or not ours to read."""

_stopping: Final = threading.Event()


@worker_shutting_down.connect
def stop_windows(**_: object) -> None:
    """End all windows of this worker."""
    _stopping.set()


@worker_ready.connect
def start_windows(**_: object) -> None:
    """Open windows as soon as there is somebody to do it, not only with the next beat."""
    look_less_often()
    ensure_windows.apply_async(expires=EXPIRES_SECONDS)
    probe_clusters.apply_async(expires=PROBE_SECONDS)


@shared_task(acks_late=False)
def ensure_windows() -> None:
    """Queue a window for each kind of each enabled cluster that nobody follows."""
    resting = set(
        Cursor.objects.filter(
            served=False, last_contact_at__gt=database_now() - UNSERVED_PAUSE
        ).values_list("cluster_id", "plural")
    )
    for cluster_id in Cluster.objects.filter(enabled=True).values_list("pk", flat=True):
        for plural in MIRRORED:
            if (cluster_id, plural) in resting or is_held(lease_name(cluster_id, plural)):
                continue
            follow_kind.apply_async((cluster_id, plural), expires=EXPIRES_SECONDS)


# Acknowledged at once: a window that dies with its worker is opened again by beat in
# seconds, not by the broker in minutes.
@shared_task(acks_late=False)
def follow_kind(cluster_id: int, plural: str) -> None:
    """Mirror one kind of one cluster for one window, unless somebody does already."""
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is None or _stopping.is_set():
        return
    cursor = Cursor.objects.filter(cluster=cluster, plural=plural).first()
    with lease(
        lease_name(cluster_id, plural),
        seconds=LEASE_SECONDS,
        above=cursor.fence if cursor else 0,
    ) as held:
        if held is None:
            return
        ended = follow(
            Window(
                cluster=cluster,
                kind=MIRRORED[plural].kind,
                held=held,
                seconds=WINDOW_SECONDS,
                stopped=_stopping.is_set,
            )
        )
    if ended is Ended.OVER:
        follow_kind.apply_async((cluster_id, plural), expires=EXPIRES_SECONDS)


@shared_task(acks_late=False)
def probe_clusters() -> None:
    """Queue a probe of the API server of each enabled cluster."""
    for cluster_id in Cluster.objects.filter(enabled=True).values_list("pk", flat=True):
        probe_cluster.apply_async((cluster_id,), expires=PROBE_SECONDS)


@shared_task(acks_late=False)
def probe_cluster(cluster_id: int) -> None:
    """Note what the API server of a cluster says of itself; done twice at once it does no harm."""
    cluster = Cluster.objects.filter(pk=cluster_id, enabled=True).first()
    if cluster is not None and not _stopping.is_set():
        probe(cluster, now=database_now())


@shared_task
def forget_history() -> None:
    """Delete old history; done twice at once it does no harm."""
    forget_old_changes(now=database_now())


def lease_name(cluster_id: int, plural: str) -> str:
    """Name the lease under which a kind of a cluster is followed."""
    return f"sync:{cluster_id}:{plural}"
