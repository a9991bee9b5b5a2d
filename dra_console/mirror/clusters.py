"""Which cluster, and the connection to it.

Nothing picks a cluster for somebody who named none while there are several: an answer about
another cluster than the one that was meant looks right and is wrong.

A connection is kept for each set of credentials and made anew when the kubeconfig file
changes, so that a rotated certificate or a moved server needs no restart.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from django.core.validators import slug_re

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


class SeveralClustersError(Exception):
    """No cluster was named, and there is more than one to mean."""

    def __init__(self, names: Sequence[str]) -> None:
        """Take the names of those that are enabled."""
        super().__init__(f"several clusters are followed; name one of {', '.join(names)}")
        self.names = tuple(names)


def enabled_clusters() -> list[Cluster]:
    """Return the clusters that are followed and shown, by name."""
    return list(Cluster.objects.filter(enabled=True).order_by("name"))


def cluster_named(name: str) -> Cluster | None:
    """Return the cluster of this name, enabled or not."""
    # No other text can be a name; some, with a NUL in it, cannot even be looked up.
    is_name = slug_re.fullmatch(name) is not None
    return Cluster.objects.filter(name=name).first() if is_name else None


def enabled_cluster(name: str) -> Cluster:
    """Return the enabled cluster of this name.

    Raises:
        Cluster.DoesNotExist: there is none, or it is disabled; the message says which.

    """
    cluster = cluster_named(name)
    if cluster is None:
        raise Cluster.DoesNotExist(f"no cluster is called {name!r:.80}")
    if not cluster.enabled:
        raise Cluster.DoesNotExist(f"cluster {name} is disabled")
    return cluster


def only_cluster() -> Cluster:
    """Return the one enabled cluster, for whoever names none.

    Raises:
        Cluster.DoesNotExist: none is enabled.
        SeveralClustersError: more than one is.

    """
    clusters = enabled_clusters()
    if not clusters:
        raise Cluster.DoesNotExist("no cluster is enabled; add one with `manage.py cluster add`")
    if len(clusters) > 1:
        raise SeveralClustersError([cluster.name for cluster in clusters])
    return clusters[0]


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
