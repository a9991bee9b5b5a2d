"""The status of a pod on its node: what the kubelet keeps of it and writes to the API server."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.container_runs import is_restarted
from dra_console.devcluster.container_status import (
    CREATING,
    INITIALIZING,
    ContainerStatus,
    Running,
    Terminated,
    time_of,
)
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import timestamp
from dra_console.devcluster.pods import Container, Pod

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"

CONDITION_TYPES: Final = ("Initialized", "ContainersReady", "Ready")
"""What the kubelet says of a pod; `PodScheduled` is the scheduler's."""


@dataclass(frozen=True, slots=True)
class PodStatus:
    """One pod as its node knows it. Containers are in the order of the pod's spec."""

    phase: str
    start_time: datetime
    init_containers: tuple[ContainerStatus, ...]
    containers: tuple[ContainerStatus, ...]
    reason: str = ""
    message: str = ""

    @property
    def is_finished(self) -> bool:
        return self.phase in {SUCCEEDED, FAILED}

    @property
    def is_stopped(self) -> bool:
        """Whether no container runs."""
        everyone = (*self.init_containers, *self.containers)
        return not any(isinstance(status.state, Running) for status in everyone)

    @property
    def is_ready(self) -> bool:
        return all(isinstance(status.state, Running) for status in self.containers)

    def of(self, name: str) -> ContainerStatus:
        """Return the status of a container of the pod."""
        return next(s for s in (*self.init_containers, *self.containers) if s.name == name)

    def with_container(self, changed: ContainerStatus) -> Self:
        """Replace the status of one container."""

        def swap(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
            return tuple(changed if s.name == changed.name else s for s in statuses)

        return replace(
            self,
            init_containers=swap(self.init_containers),
            containers=swap(self.containers),
        )

    @classmethod
    def read(cls, stored: JsonObject, *, pod: Pod, now: datetime) -> Self:
        """Take up a pod: as the API server shows it, or from the beginning.

        Raises:
            DecodeError: the stored status is not in its shape.

        """
        status = inside(stored, "status")
        known = {
            entry.text("name"): ContainerStatus.read(entry)
            for key in ("initContainerStatuses", "containerStatuses")
            for entry in status.children(key)
        }
        waiting = INITIALIZING if pod.init_containers else CREATING

        def of(container: Container) -> ContainerStatus:
            fresh = ContainerStatus(container.name, container.image, waiting)
            return known.get(container.name, fresh)

        return cls(
            phase=pod.phase,
            start_time=time_of(status, "startTime") if status.has("startTime") else now,
            init_containers=tuple(map(of, pod.init_containers)),
            containers=tuple(map(of, pod.containers)),
            reason=status.text("reason"),
            message=status.text("message"),
        )


def is_initialized(pod: Pod, status: PodStatus) -> bool:
    """Tell whether the containers may start: init containers done, sidecars running."""
    return all(
        isinstance(one.state, Running)
        if container.is_sidecar
        else isinstance(one.state, Terminated) and one.state.exit_code == 0
        for container, one in zip(pod.init_containers, status.init_containers, strict=True)
    )


def phase_of(pod: Pod, status: PodStatus) -> str:
    """Derive the phase from the containers, while the pod is left to itself."""
    pairs = tuple(zip(pod.containers, status.containers, strict=True))
    if not all(one.has_run for one in status.containers):
        return PENDING
    ends = [one.state for _, one in pairs if isinstance(one.state, Terminated)]
    over = len(ends) == len(pairs) and not any(
        is_restarted(container, one.state, restart_policy=pod.restart_policy)
        for container, one in pairs
        if isinstance(one.state, Terminated)
    )
    if not over:
        return RUNNING
    return FAILED if any(end.exit_code for end in ends) else SUCCEEDED


def status_json(
    status: PodStatus,
    *,
    pod: Pod,
    conditions: Iterable[JsonObject],
    resources: Mapping[str, list[Json]],
    now: datetime,
) -> JsonObject:
    """Write what the kubelet contributes to `status`.

    `conditions` are those stored before, `resources` the `allocatedResourcesStatus` of each
    container by its name.
    """

    def entries(statuses: Iterable[ContainerStatus]) -> Iterator[Json]:
        for one in statuses:
            allocated = resources[one.name]
            entry = one.to_json()
            yield {**entry, "allocatedResourcesStatus": allocated} if allocated else entry

    written: JsonObject = {
        "phase": status.phase,
        "startTime": timestamp(status.start_time),
        "conditions": _conditions(status, pod=pod, stored=conditions, now=now),
        "containerStatuses": list(entries(status.containers)),
    }
    if status.init_containers:
        written["initContainerStatuses"] = list(entries(status.init_containers))
    if status.reason:
        written["reason"] = status.reason
        written["message"] = status.message
    return written


def _conditions(
    status: PodStatus, *, pod: Pod, stored: Iterable[JsonObject], now: datetime
) -> list[Json]:
    holds: Mapping[str, bool] = {
        "Initialized": is_initialized(pod, status) or status.phase == SUCCEEDED,
        "ContainersReady": status.is_ready,
        "Ready": status.is_ready,
    }
    before = {condition.get("type"): condition for condition in stored}
    written: list[Json] = [
        condition for word, condition in before.items() if word not in CONDITION_TYPES
    ]
    for word in CONDITION_TYPES:
        known = before.get(word)
        value = "True" if holds[word] else "False"
        if known is not None and known.get("status") == value:
            written.append(known)
            continue
        written.append({"type": word, "status": value, "lastTransitionTime": timestamp(now)})
    return written
