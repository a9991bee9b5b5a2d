"""How long simulated containers run, how they end, and when they run again.

There are no processes. A container whose command is `sleep N` ends well after N seconds; any
other runs until it is stopped, but for init containers, which are done at once. Restarts follow
a kubelet's rules.
"""

import re
import shlex
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Final

from dra_console.devcluster.container_status import ContainerStatus, Running, Terminated
from dra_console.devcluster.pods import RESTARTS_ALWAYS, Container
from dra_console.devcluster.workqueue import BackOff

SLEEP_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
SECONDS_PER_UNIT: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})

STOPPED_EXIT_CODE: Final = 0
"""Of a container that is told to stop: `pause` and well-behaved servers end well on SIGTERM."""

KILLED_EXIT_CODE: Final = 143
"""Of `sleep` when it is told to stop: 128 and the number of SIGTERM."""


def run_seconds(container: Container) -> float | None:
    """Tell how long a container runs by itself; `None` = until it is stopped."""
    words = container.command
    match words:
        case (shell, "-c", script) if PurePosixPath(shell).name in SHELLS:
            try:
                words = tuple(shlex.split(script))
            except ValueError:
                return None
    match words:
        case (program, argument) if PurePosixPath(program).name == "sleep":
            duration = SLEEP_DURATION.fullmatch(argument)
            if duration is not None:
                return float(duration[1]) * SECONDS_PER_UNIT[duration[2]]
    return 0 if container.is_init and not container.is_sidecar else None


def ends_at(container: Container, status: ContainerStatus) -> datetime | None:
    """Tell when a run ends by itself; `None` = not by itself, or the container does not run."""
    seconds = run_seconds(container)
    if not isinstance(status.state, Running) or seconds is None:
        return None
    return status.state.started_at + timedelta(seconds=seconds)


def stopped(container: Container, status: ContainerStatus, *, now: datetime) -> ContainerStatus:
    """Tell a container to stop; one that does not run stays as it is."""
    exit_code = STOPPED_EXIT_CODE if run_seconds(container) is None else KILLED_EXIT_CODE
    return status.ended(exit_code=exit_code, now=now)


def is_restarted(container: Container, ended: Terminated, *, restart_policy: str) -> bool:
    """Tell whether a container that ended is run again."""
    policy = RESTARTS_ALWAYS if container.is_sidecar else restart_policy
    return policy == RESTARTS_ALWAYS or (policy == "OnFailure" and ended.exit_code != 0)


def restarts_at(status: ContainerStatus, ended: Terminated, *, back_off: BackOff) -> datetime:
    """Tell when a container that ended runs again: the first time at once, then with back-off."""
    if status.restart_count == 0:
        return ended.finished_at
    return ended.finished_at + timedelta(seconds=back_off.seconds(status.restart_count))
