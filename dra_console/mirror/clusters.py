"""Which cluster, and the connection to it.

A connection is kept for each set of credentials and made anew when the kubeconfig file
changes, so that a rotated certificate or a moved server needs no restart.
"""

import threading
from pathlib import Path
from typing import Final, NamedTuple

from dra_console.kube.client import Client
from dra_console.mirror.models.cluster import Cluster


class _Source(NamedTuple):
    kubeconfig: str
    context: str


class _Kept(NamedTuple):
    changed_at_nanoseconds: int
    client: Client


_kept: Final[dict[_Source, _Kept]] = {}
_lock: Final = threading.Lock()


def current_cluster() -> Cluster:
    """Return the first enabled cluster by name.

    Raises:
        Cluster.DoesNotExist: none is enabled.

    """
    cluster = Cluster.objects.filter(enabled=True).order_by("name").first()
    if cluster is None:
        raise Cluster.DoesNotExist("no cluster is enabled; add one with `manage.py cluster add`")
    return cluster


def client_of(cluster: Cluster) -> Client:
    """Return the console's own client for a cluster, shared by all threads of the process.

    Raises:
        KubeconfigError: the credentials cannot be loaded.

    """
    source = _Source(cluster.kubeconfig, cluster.context)
    changed_at = _changed_at_nanoseconds(cluster.kubeconfig)
    with _lock:
        kept = _kept.get(source)
        if kept is None or kept.changed_at_nanoseconds != changed_at:
            if kept is not None:
                kept.client.close()
            kept = _kept[source] = _Kept(changed_at, _connect(source))
        return kept.client


def _changed_at_nanoseconds(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        # A file that is being replaced may be away for a moment; loading it says so if not.
        return -1


def _connect(source: _Source) -> Client:
    if not source.kubeconfig:
        return Client.in_cluster()
    return Client.from_kubeconfig(source.kubeconfig, context=source.context)
