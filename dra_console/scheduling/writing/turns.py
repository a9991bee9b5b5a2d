"""Whose turn it is to allocate in a cluster, as the database has it.

A lease alone is not enough (`dra_console.leases`): a run that was stopped in mid-plan wakes
up believing in it. So a run takes its turn before it reads its snapshot, and asks again in
the transaction in which it notes an allocation. Either the note is there before the newer
run reads, and its devices count as used, or the older run is turned away.
"""

from typing import Final

from django.db import connection

from dra_console.mirror.models import Cluster
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.models import Turn

_TABLE: Final = Turn._meta.db_table  # noqa: SLF001 - Django's documented name


def hold_turn(cluster: Cluster, *, fence: int) -> None:
    """Take or confirm the turn; within a transaction nobody else can take it until the end.

    Raises:
        TurnOverError: a lease with a greater fence has taken it.

    """
    if _take(cluster, fence=fence):
        return
    Turn.objects.get_or_create(cluster=cluster)
    if not _take(cluster, fence=fence):
        raise TurnOverError(f"a newer run has begun; ours has fence {fence}")


def _take(cluster: Cluster, *, fence: int) -> bool:
    # By hand: it is part of each note, and the ORM takes longer than the database.
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {_TABLE} SET fence = %s WHERE cluster_id = %s AND fence <= %s",  # noqa: S608 - a model's name
            (fence, cluster.pk, fence),
        )
        return bool(cursor.rowcount > 0)


def check_turn(cluster: Cluster, *, fence: int) -> None:
    """Ask whose turn it is, without taking it.

    Raises:
        TurnOverError: a lease with a greater fence has taken it.

    """
    if Turn.objects.filter(cluster=cluster, fence__gt=fence).exists():
        raise TurnOverError(f"a newer run has begun; ours has fence {fence}")
