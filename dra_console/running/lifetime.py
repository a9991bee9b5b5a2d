"""From the start until Ctrl-C: one run in a directory, and an end in order."""

import fcntl
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from dra_console.running.children import Supervisor
from dra_console.running.state import State

READY_SECONDS: Final = 120
LOOK_SECONDS: Final = 0.2
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)  # noqa: T201 - speaks to a person


@contextmanager
def supervised(state: State, *, tidy_up: Callable[[], None]) -> Iterator[Supervisor]:
    """Keep children for the block; Ctrl-C ends the block, and its end stops the children.

    `tidy_up` runs when all of them have ended.

    Raises:
        SystemExit: another run uses the directory.

    """
    with _only_one(state):
        state.summary.unlink(missing_ok=True)
        supervisor = Supervisor(logs=state.logs, say=say)
        for number in STOP_SIGNALS:
            signal.signal(number, _stop)
        try:
            yield supervisor
        except KeyboardInterrupt:
            say("Stopping")
        finally:
            supervisor.stop()
            state.summary.unlink(missing_ok=True)
            tidy_up()


def wait_until(ready: Callable[[], bool], *, what: str, supervisor: Supervisor) -> None:
    """Tend the children until `ready` says so.

    Raises:
        SystemExit: it did not within `READY_SECONDS`.

    """
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not come up within {READY_SECONDS} s; see the logs")
        supervisor.tend()
        time.sleep(LOOK_SECONDS)


def tend_for_ever(supervisor: Supervisor) -> None:
    """Look after the children until a signal ends it."""
    while True:
        supervisor.tend()
        time.sleep(LOOK_SECONDS)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Begin to stop; an impatient second Ctrl-C must not cut the stopping short."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def _only_one(state: State) -> Iterator[None]:
    with state.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"a {state.label} is under way in {state.home} already") from None
        try:
            yield
        finally:
            state.lock.unlink(missing_ok=True)
