"""One look for conflicts in a cluster; what is known is kept for the next one."""

import threading
import time
from typing import Any, Final

import structlog

from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.detect import detect
from dra_console.scheduling.coexistence.record import record
from dra_console.scheduling.coexistence.watched import Watched
from dra_console.scheduling.models import ConflictCheck
from dra_console.scheduling.pace import Pace

log = structlog.get_logger()

_watched: Final[dict[int, Watched]] = {}
_lock: Final = threading.Lock()
"""Held for a whole look: a lease keeps others of one cluster out, and memory is shared."""


def forget(cluster_id: int) -> None:
    """Let go of what is known of a cluster that is followed no longer."""
    with _lock:
        _watched.pop(cluster_id, None)


def look(cluster: Cluster) -> bool:
    """Find what conflicts in the cluster and store it; tell whether anything had changed.

    Where nothing changed since the last look of this process, only its time is written down.
    """
    started = time.monotonic()
    pace = Pace()
    now = database_now()
    with _lock:
        # Away while it is refreshed: of what breaks off in the middle nothing is kept.
        watched = _watched.pop(cluster.pk, None) or Watched(cluster)
        has_changed = watched.refresh(pace)
        _watched[cluster.pk] = watched
        check: dict[str, Any] = {
            "checked_at": now,
            "claims": watched.claims,
            "devices": watched.devices,
            "unknown_kinds": watched.unknown_kinds,
        }
        if has_changed:
            check["left_out"] = record(cluster, detect(watched.world()), now=now)
            check["seconds"] = time.monotonic() - started - pace.rested_seconds
    defaults = {"seconds": time.monotonic() - started, **check}
    ConflictCheck.objects.update_or_create(
        cluster=cluster, defaults=check, create_defaults=defaults
    )
    return has_changed
