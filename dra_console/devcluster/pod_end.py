"""How a pod ends on its node: by itself, by its deadline, or because it is deleted."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from dra_console.devcluster.container_runs import stopped
from dra_console.devcluster.container_status import ContainerStatus
from dra_console.devcluster.pod_status import FAILED, SUCCEEDED, PodStatus, phase_of
from dra_console.devcluster.pods import FINISHED_PHASES, Container, Pod

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


def deadline(pod: Pod, status: PodStatus) -> datetime | None:
    """Tell when `activeDeadlineSeconds` ends the pod; `None` = it has no deadline."""
    if pod.active_deadline_seconds is None:
        return None
    return status.start_time + timedelta(seconds=pod.active_deadline_seconds)


def ending(pod: Pod, status: PodStatus, *, now: datetime) -> PodStatus | None:
    """Return the last status of a pod that is to end now; `None` = it goes on.

    Containers that still run are told to stop, which simulated ones do at once, whatever
    the grace period.
    """
    phase = phase_of(pod, status)
    if phase in FINISHED_PHASES:
        return replace(status, phase=phase)
    if pod.is_deleting:
        last = _with_all_stopped(pod, status, now=now)
        return replace(last, phase=_phase_when_stopped(last))
    limit = deadline(pod, status)
    if limit is None or limit > now:
        return None
    return replace(
        _with_all_stopped(pod, status, now=now),
        phase=FAILED,
        reason=DEADLINE_EXCEEDED,
        message=DEADLINE_MESSAGE,
    )


def _with_all_stopped(pod: Pod, status: PodStatus, *, now: datetime) -> PodStatus:
    def stop(
        containers: Iterable[Container], statuses: Iterable[ContainerStatus]
    ) -> tuple[ContainerStatus, ...]:
        pairs = zip(containers, statuses, strict=True)
        return tuple(stopped(container, one, now=now) for container, one in pairs)

    return replace(
        status,
        init_containers=stop(pod.init_containers, status.init_containers),
        containers=stop(pod.containers, status.containers),
    )


def _phase_when_stopped(status: PodStatus) -> str:
    """Tell how a pod ended whose containers were stopped; one that never ran has failed."""
    ends = [one.latest_end for one in status.containers]
    return SUCCEEDED if all(end is not None and not end.exit_code for end in ends) else FAILED
