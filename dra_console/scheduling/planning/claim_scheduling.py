"""What is known of how the pods of a claim are scheduled, and by whom.

The mirror has each pod's own words; events are asked of the API server as the person who reads,
so that it decides what they may see. An answer that does not come is not known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.access import rules
from dra_console.access.errors import NoClusterIdentityError
from dra_console.access.rules import Account
from dra_console.kube.errors import ApiError, ForbiddenError
from dra_console.mirror.models import Pod, ResourceClaim
from dra_console.scheduling.attempts.cluster_reason import (
    Agreement,
    ClusterReason,
    Said,
    agreement_on,
    cluster_reason_of,
)
from dra_console.scheduling.attempts.pod_events import failed_scheduling_of
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL, SCHEDULER_NAME
from dra_console.scheduling.planning.queue_of import InQueue, Standing, queue_of

PODS_SHOWN: Final = 3
FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class PodScheduling:
    """What the cluster says of one pod that waits."""

    pod: Pod
    reason: ClusterReason
    agreement: Agreement
    failures: tuple[Said, ...] | None
    """Events, newest first; None: not known, and `failures_unknown` says why."""

    failures_unknown: str

    @property
    def is_ours(self) -> bool:
        """Tell whether this console places it."""
        return self.reason.scheduler_name == SCHEDULER_NAME

    @property
    def is_second_opinion(self) -> bool:
        """Tell whether another scheduler has said something that ours can be held against."""
        return not self.is_ours and bool(self.reason.condition or self.failures)


@dataclass(frozen=True, slots=True)
class ClaimScheduling:
    """Who schedules a claim's pods, and where they stand in the queue."""

    pods: tuple[PodScheduling, ...]
    more_pods: int
    place: str
    """In words; where no order is defined it says so."""


def pods_naming(claim: ResourceClaim) -> list[Pod]:
    """List the pods that name the claim, without their objects."""
    pods = Pod.objects.filter(cluster=claim.cluster, namespace=claim.namespace).defer("raw")
    return [pod for pod in pods if claim.name in pod.claim_names.values()]


def scheduling_of(
    claim: ResourceClaim, *, pods: Iterable[Pod], newest: Attempt | None, account: Account
) -> ClaimScheduling:
    """Ask what the cluster says of the claim's pods that wait; `pods` may lack their objects."""
    waiting = [pod.pk for pod in pods if not pod.node_name and pod.phase not in FINISHED]
    shown = list(Pod.objects.filter(pk__in=waiting).order_by("created_at", "pk")[:PODS_SHOWN])
    read = tuple(_pod(pod, newest=newest, account=account) for pod in shown)
    return ClaimScheduling(
        pods=read, more_pods=len(waiting) - len(shown), place=_place(claim, read)
    )


def _pod(pod: Pod, *, newest: Attempt | None, account: Account) -> PodScheduling:
    reason = cluster_reason_of(pod.raw)
    failures, unknown = _failures(pod, account)
    said = reason.condition or next(iter(failures or ()), None)
    return PodScheduling(
        pod=pod,
        reason=reason,
        agreement=agreement_on(
            said,
            scheduler_name=reason.scheduler_name,
            outcome=newest.outcome if newest else "",
            explanation=newest.explanation if newest else {},
        ),
        failures=failures,
        failures_unknown=unknown,
    )


def _failures(pod: Pod, account: Account) -> tuple[tuple[Said, ...] | None, str]:
    try:
        client = rules.client_for(account, pod.cluster)
        return failed_scheduling_of(pod, client=client), ""
    except NoClusterIdentityError:
        return None, "your account has no identity in this cluster"
    except ForbiddenError:
        return None, f"you may not list events in namespace {pod.namespace}"
    except ApiError:
        return None, "the API server did not answer"


def _place(claim: ResourceClaim, pods: Iterable[PodScheduling]) -> str:
    """Say where the claim stands in this console's queue, or why nobody can say."""
    uids = {each.pod.uid for each in pods if each.is_ours}
    labels = (claim.raw.get("metadata") or {}).get("labels") or {}
    if labels.get(RESERVE_AHEAD_LABEL) == "true":
        uids.add(claim.uid)
    if uids:
        return _place_in_queue(queue_of(claim.cluster), uids)
    others = sorted({each.reason.scheduler_name or "another scheduler" for each in pods})
    if others:
        return (
            f"The order is not defined: {', '.join(others)} schedules its pod and does not tell"
            " whom it tries next."
        )
    return (
        "No order is defined: no waiting pod uses it, and it is not to be reserved ahead"
        f" (label {RESERVE_AHEAD_LABEL}: true)."
    )


def _place_in_queue(queue: Sequence[InQueue], uids: set[str]) -> str:
    found = next((each for each in queue if each.line.uid in uids), None)
    if found is None:
        return "It is not in this console's queue: something holds its pod back."
    place = f"Place {found.place} of {len(queue)} in this console's queue"
    return f"{place}: {standing_in_words(found)}."


def standing_in_words(one: InQueue) -> str:
    """Say what somebody in the queue waits for."""
    match one.standing:
        case Standing.NEXT:
            return "it is tried in its turn"
        case Standing.BACKING_OFF:
            at = f"{one.next_try_at:%H:%M:%S} UTC" if one.next_try_at else "a time not known"
            return f"tried in vain, not again before {at} ({one.tries} so far)"
        case Standing.FOR_CHANGE:
            return "tried again when something changes that may let it fit"
        case Standing.UNKNOWN:
            return "when it is tried next is not known"
