"""One round of allocation and one of explanations, without a worker or a watch."""

from collections.abc import Callable

from dra_console.leases import Lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.allocating.beginning import CalledOffError, begin
from dra_console.scheduling.allocating.explaining import explain_waiting
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.pace import Pace
from dra_console.scheduling.writing.pod_events import recorder_of
from dra_console.sync.cursors import make_cursors


def mirrored_to_the_end(cluster: Cluster) -> None:
    """Let the mirror say that its lists are whole; nothing is allocated before that."""
    make_cursors(cluster)
    Cursor.objects.filter(cluster=cluster).update(resource_version="1")


def allocate_once(
    cluster: Cluster, lease: Lease, *, also: Callable[[Resident], None] = lambda _: None
) -> int:
    """Plan and write what waits, once, then explain what still does; count pods bound.

    `also` may tell the world of more, as a watch would.
    """
    client = client_of(cluster)
    try:
        begun = begin(cluster, client=client, lease=lease)
    except (CalledOffError, TurnOverError):
        return 0
    also(begun.waiting.resident)
    begun.rounds.run()
    begun.rounds.open_notes.withdraw(cluster, fence=lease.fence)
    # Events are written in the background.
    assert recorder_of(client).wait(timeout_seconds=30)
    explain_waiting(cluster, Pace())
    return begun.rounds.counts.bound
