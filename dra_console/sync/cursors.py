"""The one way to write for a kind: its cursor, locked and fenced, with whatever it speaks for.

A window may write only while it is the newest holder of its kind's lease, while its cluster
is enabled, and while the cluster is the one that it began with. All three are asked inside
the transaction that writes, with the cursor's row locked, so none of them can change before
the commit.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.mirrored import MIRRORED


def make_cursors(cluster: Cluster) -> None:
    """Give each mirrored kind its cursor; those that exist stay as they are.

    Raises:
        NotOurTurnError: the cluster was removed.

    """
    if not Cluster.objects.filter(pk=cluster.pk).exists():
        raise NotOurTurnError(f"cluster {cluster.name} was removed")
    Cursor.objects.bulk_create(
        [Cursor(cluster=cluster, plural=plural) for plural in MIRRORED], ignore_conflicts=True
    )


@contextmanager
def writing(cluster: Cluster, *, kind: Kind, fence: int, kube_system_uid: str) -> Iterator[Cursor]:
    """Hold the cursor in a transaction for the block, and save it with what the block wrote.

    Raises:
        NotOurTurnError: a newer lease has written, or the cluster was disabled, removed or
            found to be another one than `kube_system_uid`.

    """
    with transaction.atomic():
        cursor = (
            Cursor.objects.select_for_update().filter(cluster=cluster, plural=kind.plural).first()
        )
        # Read after the lock was got, so it is no older than what the last writer left.
        current = Cluster.objects.filter(pk=cluster.pk).first()
        if cursor is None or current is None or not current.enabled:
            raise NotOurTurnError(f"cluster {cluster.name} was removed or disabled")
        if cursor.fence > fence:
            raise NotOurTurnError(f"lease {cursor.fence} has written since; ours is {fence}")
        if current.kube_system_uid != kube_system_uid:
            raise NotOurTurnError(
                f"cluster {cluster.name} is another one now: kube-system has UID "
                f"{current.kube_system_uid}, was {kube_system_uid}"
            )
        cursor.fence = fence
        yield cursor
        cursor.save()
