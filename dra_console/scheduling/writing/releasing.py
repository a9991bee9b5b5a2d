"""Free a claim that stands in its own pod's way (kube-scheduler's PostFilter).

Its devices are where the pod cannot run, or will never be prepared. The mirror may not show yet
that the pod was bound and uses them by now, so the API server is asked first.
"""

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError
from dra_console.mirror.models import Cluster
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.binding import PodChangedError, disown
from dra_console.scheduling.writing.claim_changes import ClaimChangedError
from dra_console.scheduling.writing.claim_status import (
    allocation_of,
    consumers_of,
    is_same_allocation,
    name_of,
    uid_of,
)
from dra_console.scheduling.writing.plan import PodToBind
from dra_console.scheduling.writing.sending import Writer, read_claim
from dra_console.scheduling.writing.taking_back import free

log = structlog.get_logger()


def free_in_the_way(
    writer: Writer, cluster: Cluster, claim: JsonObject, *, pod: PodToBind
) -> JsonObject | None:
    """Free `claim` if only `pod` has reserved it and still waits; `pod.node_name` is empty.

    Returns the claim as it is now, or None if it was left alone.
    """
    try:
        live = read_claim(writer.client, claim)
        is_as_planned = is_same_allocation(allocation_of(live), allocation_of(claim))
        if not is_as_planned or any(each.get("uid") != pod.uid for each in consumers_of(live)):
            return None
        why = f"claim {name_of(live)} is where the pod cannot run; its devices are given back"
        if not disown(writer, pod, why):
            return None
        freed = free(writer, live)
        notes.withdraw(cluster, [uid_of(freed)], fence=writer.lease.fence)
    except (ApiError, ClaimChangedError, PodChangedError, TurnOverError) as error:
        log.info("claim not freed for its own pod", claim=name_of(claim), reason=str(error))
        return None
    log.info("claim freed for its own pod", claim=name_of(claim), pod=str(pod))
    return freed
