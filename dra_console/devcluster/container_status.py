"""The status of one container, as entries of `status.containerStatuses` say it."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self, TypeAlias

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.metadata import timestamp


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running; `reason` is one of a kubelet's, such as `ContainerCreating`."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """In a run that has not ended."""

    started_at: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """At the end of a run."""

    exit_code: int
    reason: str
    started_at: datetime
    finished_at: datetime


ContainerState: TypeAlias = Waiting | Running | Terminated

CREATING: Final = Waiting("ContainerCreating")
INITIALIZING: Final = Waiting("PodInitializing")


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """One container of a pod; `last` is how the run before the present state ended."""

    name: str
    image: str
    state: ContainerState
    last: Terminated | None = None
    restart_count: int = 0

    @property
    def has_run(self) -> bool:
        return not isinstance(self.state, Waiting) or self.last is not None

    @property
    def latest_end(self) -> Terminated | None:
        return self.state if isinstance(self.state, Terminated) else self.last

    def started(self, *, now: datetime) -> Self:
        """Begin a run, the first or another."""
        ended = self.latest_end
        restarts = self.restart_count + (0 if ended is None else 1)
        return replace(self, state=Running(now), last=ended, restart_count=restarts)

    def refused(self, *, reason: str, message: str) -> Self:
        """Note that the runtime could not create the container."""
        return replace(self, state=Waiting(reason, message), last=self.latest_end)

    def ended(self, *, exit_code: int, now: datetime) -> Self:
        """End the run; a container that does not run is left as it is."""
        if not isinstance(self.state, Running):
            return self
        reason = "Error" if exit_code else "Completed"
        return replace(self, state=Terminated(exit_code, reason, self.state.started_at, now))

    def to_json(self) -> JsonObject:
        """Write it as an entry of `status.containerStatuses`."""
        is_running = isinstance(self.state, Running)
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "ready": is_running,
            "started": is_running,
            "restartCount": self.restart_count,
            "state": _state_json(self.state),
            "lastState": {} if self.last is None else _state_json(self.last),
        }

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read an entry of `status.containerStatuses`.

        Raises:
            DecodeError: a field is not of its type, or a time not in its format.

        """
        state = fields.child("state")
        last = fields.child("lastState")
        ended = last.child("terminated") if last else None
        return cls(
            name=fields.text("name"),
            image=fields.text("image"),
            state=_state(state) if state else CREATING,
            last=_terminated(ended) if ended else None,
            restart_count=fields.integer("restartCount") or 0,
        )


def time_of(fields: Fields, key: str) -> datetime:
    """Read a time.

    Raises:
        DecodeError: it is absent or not in RFC 3339.

    """
    try:
        return datetime.fromisoformat(fields.text(key))
    except ValueError as error:
        raise DecodeError(fields.path_of(key), f"expected a time: {error}") from error


def _state_json(state: ContainerState) -> JsonObject:
    match state:
        case Waiting(reason, message):
            waiting: JsonObject = {"reason": reason}
            return {"waiting": {**waiting, "message": message} if message else waiting}
        case Running(started_at):
            return {"running": {"startedAt": timestamp(started_at)}}
        case Terminated(exit_code, reason, started_at, finished_at):
            return {
                "terminated": {
                    "exitCode": exit_code,
                    "reason": reason,
                    "startedAt": timestamp(started_at),
                    "finishedAt": timestamp(finished_at),
                }
            }


def _state(fields: Fields) -> ContainerState:
    if running := fields.child("running"):
        return Running(time_of(running, "startedAt"))
    if terminated := fields.child("terminated"):
        return _terminated(terminated)
    if waiting := fields.child("waiting"):
        return Waiting(waiting.text("reason"), waiting.text("message"))
    return CREATING


def _terminated(fields: Fields) -> Terminated:
    return Terminated(
        exit_code=fields.integer("exitCode") or 0,
        reason=fields.text("reason"),
        started_at=time_of(fields, "startedAt"),
        finished_at=time_of(fields, "finishedAt"),
    )
