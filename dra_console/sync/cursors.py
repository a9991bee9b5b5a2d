"""The one way to write for a kind: its cursor, locked and fenced, with whatever it speaks for.

A window may write only while it is the newest holder of its kind's lease, while its cluster
is enabled, and while the cluster is the one that it began with. All three are asked inside
the transaction that writes, with the cursor's row locked, so none of them can change before
the commit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection, transaction

from dra_console.kube.kinds import Kind
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.errors import CursorMovedError, NotOurTurnError
from dra_console.sync.mirrored import MIRRORED

IDLE_SECONDS: Final = 60
"""A process that the operating system stops in mid-transaction keeps its cursor locked. After
so long PostgreSQL ends its session, and who follows the kind since can write."""


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
def writing(
    cluster: Cluster,
    *,
    kind: Kind,
    fence: int,
    kube_system_uid: str,
    expects: str | None = None,
) -> Iterator[Cursor]:
    """Hold the cursor in a transaction for the block, and save it with what the block wrote.

    `expects` is the version that the cursor must be at; what follows that version is about to
    be written.

    Raises:
        NotOurTurnError: a newer lease has written, or the cluster was disabled, removed or
            found to be another one than `kube_system_uid`.
        CursorMovedError: the cursor is elsewhere than `expects`.

    """
    with transaction.atomic():
        _limit_idleness()
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
        if expects not in {None, cursor.resource_version}:
            raise CursorMovedError(f"the cursor is at {cursor.resource_version}, not {expects}")
        cursor.fence = fence
        yield cursor
        cursor.save()


def note_contact(cursor: Cursor, *, resource_version: str) -> None:
    """Note that the API server answered, with everything up to this version."""
    cursor.resource_version = resource_version
    cursor.last_contact_at = database_now()
    cursor.served = True
    cursor.error = ""
    cursor.error_status = 0


def _limit_idleness() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('idle_in_transaction_session_timeout', %s, true)",
                [f"{IDLE_SECONDS}s"],
            )
