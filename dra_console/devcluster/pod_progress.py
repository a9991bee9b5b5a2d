"""What becomes of a pod's containers as time passes, without asking anybody."""

from dataclasses import dataclass
from datetime import datetime

from dra_console.devcluster.container_runs import ends_at, is_restarted, restarts_at
from dra_console.devcluster.container_status import ContainerStatus, Running, Terminated
from dra_console.devcluster.pod_status import PodStatus, is_initialized
from dra_console.devcluster.pods import Container, Pod
from dra_console.devcluster.workqueue import BackOff


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a pod is at one moment."""

    status: PodStatus
    startable: tuple[Container, ...]
    """Containers that the runtime is to create now."""

    next_at: datetime | None
    """When something is to be done next if nothing happens before; `None` = never."""


def progress(pod: Pod, status: PodStatus, *, now: datetime, back_off: BackOff) -> Progress:
    """End the runs whose time is over and find what is to start.

    Init containers start one after another, each when all before it are done (sidecars: when
    they run); the containers start together after them.
    """
    for container in pod.all_containers:
        one = status.of(container.name)
        end = ends_at(container, one)
        if end is not None and end <= now:
            status = status.with_container(one.ended(exit_code=0, now=end))
    starts = {
        container: start
        for container in _next_in_line(pod, status)
        if (
            start := _starts_at(
                status.of(container.name), container=container, pod=pod, now=now, back_off=back_off
            )
        )
    }
    ends = [ends_at(each, status.of(each.name)) for each in pod.all_containers]
    later = [moment for moment in (*starts.values(), *ends) if moment is not None and moment > now]
    return Progress(
        status=status,
        startable=tuple(container for container, start in starts.items() if start <= now),
        next_at=min(later, default=None),
    )


def _next_in_line(pod: Pod, status: PodStatus) -> tuple[Container, ...]:
    """Name the containers whose turn it is, running or not."""
    if is_initialized(pod, status):
        return pod.containers + tuple(each for each in pod.init_containers if each.is_sidecar)
    for index, container in enumerate(pod.init_containers):
        one = status.of(container.name)
        is_done = (
            isinstance(one.state, Running)
            if container.is_sidecar
            else isinstance(one.state, Terminated) and one.state.exit_code == 0
        )
        if not is_done:
            return (container, *(each for each in pod.init_containers[:index] if each.is_sidecar))
    return ()


def _starts_at(
    one: ContainerStatus, *, container: Container, pod: Pod, now: datetime, back_off: BackOff
) -> datetime | None:
    match one.state:
        case Running():
            return None
        case Terminated() as ended:
            if not is_restarted(container, ended, restart_policy=pod.restart_policy):
                return None
            return restarts_at(one, ended, back_off=back_off)
        case _:
            return now
