"""How a window begins: the turn is taken, writes in doubt are settled, everything is read anew."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import object_of
from dra_console.kube.client import Client
from dra_console.kube.errors import ForbiddenError, NotFoundError
from dra_console.kube.kinds import NAMESPACES, PODS
from dra_console.leases import Lease
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.opening import NotMirrored, open_resident
from dra_console.scheduling.allocating.round import Rounds
from dra_console.scheduling.allocating.waiting_list import WaitingList
from dra_console.scheduling.names import SCHEDULER_NAME
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.sending import Writer
from dra_console.scheduling.writing.turns import hold_turn

SCHEDULED_BY_US: Final = f"spec.schedulerName={SCHEDULER_NAME}"


@dataclass(frozen=True, slots=True)
class Begun:
    """The world as a window finds it, and the versions from which to watch on."""

    waiting: WaitingList
    rounds: Rounds
    claims_version: str
    pods_version: str


class CalledOffError(Exception):
    """The window must end before its time."""


class NotMirroredError(CalledOffError):
    """The window may not begin yet."""


def begin(
    cluster: Cluster,
    *,
    client: Client,
    lease: Lease,
    pool: Executor | None = None,
    counts: Counts | None = None,
) -> Begun:
    """Take the turn and read everything anew.

    Raises:
        CalledOffError: nothing may be allocated now.
        TurnOverError: a newer holder of the lease has begun.
        ApiError: the API server failed.

    """
    hold_turn(cluster, fence=lease.fence)
    notes.forget_shown(cluster, fence=lease.fence)
    settled = notes.settle(Writer(client, lease), cluster)
    opened = open_resident(cluster)
    if isinstance(opened, NotMirrored):
        raise NotMirroredError(f"not mirrored yet: {', '.join(opened.plurals)}")
    _confirm_cluster(client, cluster)
    pods = client.list(PODS, field_selector=f"{SCHEDULED_BY_US},spec.nodeName=")
    for pod in pods.items:
        opened.resident.pods.put(pod)
    waiting = WaitingList(opened.resident)
    rounds = Rounds(client, lease, opened.resident, waiting.queue, pool, counts or Counts())
    rounds.doubtful.update(settled.doubtful)
    rounds.open_notes.stand(settled.standing)
    return Begun(waiting, rounds, opened.claims_version, pods.resource_version)


def _confirm_cluster(client: Client, cluster: Cluster) -> None:
    """Make sure that the API server is that of the cluster that was mirrored.

    A console that may not read namespaces cannot tell, and neither can the mirror.
    """
    try:
        found = client.get(NAMESPACES, "kube-system")
    except (ForbiddenError, NotFoundError):
        return
    uid = object_of(found.get("metadata")).get("uid")
    known = Cluster.objects.filter(pk=cluster.pk).values_list("kube_system_uid", flat=True).first()
    if known and uid != known:
        raise CalledOffError("another cluster answers than the one that is mirrored")
